// Members of the editor's registerType call that are code; the build makes the others from the definition.
module.exports = {
  label() {
    const path = this.pathType === 'str' && this.path;
    return this.name || (path ? this.method + ' ' + path : this._('paletteLabel'));
  },
};
