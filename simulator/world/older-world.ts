import { modelOf } from './models';
import { SPOOL } from './spools';
import { newSlots, unload } from './station';
import { VERSION, type Cluster, type Printer, type State } from './state';

/** A stored world of the version before. */
export type OlderState = Omit<State, 'version' | 'clusters'> & { version: 3; clusters: Omit<Cluster, 'endWords'>[] };

/**
 * Upgrades a stored world of version 3. Its prints end in the words that most printers send, and what its material
 * stations had in the extruders is in slots that feed them.
 */
export function upgraded(state: OlderState): State {
  const clusters = state.clusters.map((older): Cluster => {
    const cluster: Cluster = { endWords: 'long', ...older };
    return modelOf(cluster).station ? { ...cluster, printers: cluster.printers.map(withSlots) } : cluster;
  });
  return { ...state, version: VERSION, clusters };
}

function withSlots(printer: Printer): Printer {
  const slots = printer.extruders.flatMap(({ material, volumeLeft = SPOOL }, extruder) =>
    material === null ? [] : [{ extruder, material, remaining: volumeLeft / SPOOL }],
  );
  const upgraded = { ...printer, slots: newSlots(slots) };
  unload(upgraded);
  return upgraded;
}
