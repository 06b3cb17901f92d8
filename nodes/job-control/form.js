// Members of the editor's registerType call that are code; the build makes the others from the definition.
module.exports = {
  label() {
    const printer = RemotePrinting.printerName(this);
    const action = this.action === 'msg.action' ? this._('paletteLabel') : this.action;
    return this.name || (printer ? this._('nodeLabel', { action, printer }) : this._('paletteLabel'));
  },
};
