// Members of the editor's registerType call that are code; the build makes the others from the definition.
module.exports = {
  label() {
    const path = RemotePrinting.valueOf(this, 'pathType') === 'str' && this.path;
    return this.name || (path ? RemotePrinting.valueOf(this, 'method') + ' ' + path : this._('paletteLabel'));
  },
};
