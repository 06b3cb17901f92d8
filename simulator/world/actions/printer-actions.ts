import type { Cluster, Printer } from '../state';
import { field, isText, type ActionRule } from './rule';

interface PrinterAction extends ActionRule {
  apply?: (printer: Printer, about: { cluster: Cluster; at: number }, data: Record<string, unknown>) => void;
}

const onOff = (name: string) => field(name, 'must be true or false', (value) => typeof value === 'boolean');

/** Actions on printers (wire facts 9). */
export const PRINTER_ACTIONS: Record<string, PrinterAction> = {
  // The picture is taken at the end of the action.
  get_webcam_snapshot: { fields: [], capability: 'webcam_snapshot' },
  rename: {
    fields: ['name'],
    capability: 'rename',
    check: field('name', 'must be a string', isText),
    apply(printer, { cluster }, { name }) {
      printer.name = String(name);
      if (printer === cluster.printers[0]) cluster.friendlyName = String(name);
    },
  },
  set_availability: {
    fields: ['enabled'],
    capability: 'set_availability',
    check: onOff('enabled'),
    apply(printer, { at }, { enabled }) {
      printer.enabled = enabled === true;
      printer.freeSince = Math.max(printer.freeSince, at);
    },
  },
  identify: { fields: [], capability: 'identify' },
  update_firmware: { fields: ['schedule_update'], capability: 'update_firmware', check: onOff('schedule_update') },
  import_material: {
    fields: ['material_profile_id'],
    capability: 'import_material',
    check: field('material_profile_id', 'must be an id', isText),
  },
};
