// Members of the editor's registerType call that are code; the build makes the others from the definition.
module.exports = {
  label() {
    if (this.name) return this.name;
    if (this.service === 'simulator') return this._('paletteLabel') + ' (' + this._('service.simulator') + ')';
    return this._('paletteLabel');
  },
  oneditprepare() {
    RemotePrinting.openAccountDialog(this);
  },
  oneditsave() {
    RemotePrinting.closeAccountDialog();
  },
  oneditcancel() {
    RemotePrinting.closeAccountDialog();
  },
  oneditdelete() {
    RemotePrinting.closeAccountDialog();
  },
};
