// Members of the editor's registerType call that are code; the build makes the others from the definition.
module.exports = {
  label() {
    const key = 'nodeLabel.' + RemotePrinting.valueOf(this, 'operation');
    return this.name || this._(key);
  },
};
