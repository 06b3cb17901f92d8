// Members of the editor's registerType call that are code; the build makes the others from the definition.
module.exports = {
  label() {
    const printer = RemotePrinting.printerName(this);
    return this.name || (printer ? this._('nodeLabel', { printer }) : this._('paletteLabel'));
  },
};
