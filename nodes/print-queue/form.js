// Members of the editor's registerType call that are code; the build makes the others from the definition.
module.exports = {
  label() {
    if (this.name) return this.name;
    const action = RemotePrinting.valueOf(this, 'action');
    const key = action === 'msg.action' ? 'paletteLabel' : 'nodeLabel.' + action;
    return this._(key);
  },
};
