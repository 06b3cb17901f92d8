// Members of the editor's registerType call that are code; the build makes the others from the definition.
module.exports = {
  label() {
    if (this.name) return this.name;
    if (!RemotePrinting.valueOf(this, 'print'))
      return this.source === 'stored' ? this._('paletteLabel') : this._('nodeLabel.upload');
    const printer = RemotePrinting.printerName(this);
    return printer ? this._('nodeLabel.print', { printer }) : this._('paletteLabel');
  },
};
