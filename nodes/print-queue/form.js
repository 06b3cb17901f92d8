// Members of the editor's registerType call that are code; the build makes the others from the definition.
module.exports = {
  label() {
    if (this.name) return this.name;
    const key = this.action === 'msg.action' ? 'paletteLabel' : 'nodeLabel.' + this.action;
    return this._(key);
  },
};
