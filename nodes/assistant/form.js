// Members of the editor's registerType call that are code; the build makes the others from the definition.
module.exports = {
  label() {
    return this.name || this._('paletteLabel');
  },
  oneditsave() {
    RemotePrinting.keepOneParent('account', 'queue');
  },
};
