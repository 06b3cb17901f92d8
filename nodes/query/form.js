// Members of the editor's registerType call that are code; the build makes the others from the definition.
module.exports = {
  label() {
    if (this.name) return this.name;
    const query = RemotePrinting.valueOf(this, 'query');
    const isOfPrinter = ['cluster-status', 'print-jobs', 'print-job', 'preview', 'maintenance'].includes(query);
    const printer = isOfPrinter && RemotePrinting.printerName(this);
    const key = (printer ? 'nodeLabel.' : 'query.') + query;
    return this._(key, { printer });
  },
};
