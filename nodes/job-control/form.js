// Members of the editor's registerType call that are code; the build makes the others from the definition.
module.exports = {
  label() {
    const printer = RemotePrinting.printerName(this);
    const chosen = RemotePrinting.valueOf(this, 'action');
    const action = chosen === 'msg.action' ? this._('paletteLabel') : chosen;
    return this.name || (printer ? this._('nodeLabel', { action, printer }) : this._('paletteLabel'));
  },
};
