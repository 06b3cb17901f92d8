import { VERSION, type Cluster, type State } from './state';

/** A stored world of the version before. */
export type OlderState = Omit<State, 'version' | 'clusters'> & { version: 3; clusters: Omit<Cluster, 'endWords'>[] };

/** Upgrades a stored world of version 3. Its prints end in the words that most printers send. */
export function upgraded(state: OlderState): State {
  return { ...state, version: VERSION, clusters: state.clusters.map((cluster) => ({ endWords: 'long', ...cluster })) };
}
