import { modelOf } from './models';
import { SPOOL } from './spools';
import { newSlots, unload } from './station';
import { VERSION, type Cluster, type LibraryProject, type Printer, type PrintJob, type State } from './state';

/** A stored world of the version before. */
export type OlderState = Omit<State, 'version' | 'clusters' | 'projects'> & {
  version: 3;
  clusters: OlderCluster[];
  projects: Pick<LibraryProject, 'libraryProjectId' | 'organizationId' | 'displayName'>[];
};
type OlderCluster = Omit<Cluster, 'endWords' | 'queue' | 'history' | 'lastReport'> & {
  queue: OlderJob[];
  history: OlderJob[];
};
type OlderJob = Omit<PrintJob, 'message'> & { message: string | null };

/**
 * Upgrades a stored world of version 3. Its prints end in the words that most printers send, what its material stations
 * had in the extruders is in slots that feed them, and nobody knows who wrote its messages.
 */
export function upgraded(state: OlderState): State {
  const clusters = state.clusters.map((older): Cluster => {
    const [queue, history] = [older.queue.map(withAuthor), older.history.map(withAuthor)];
    // An offline cluster shows its present jobs as those of its last report.
    const cluster: Cluster = { endWords: 'long', ...older, queue, history, lastReport: null };
    return modelOf(cluster).station ? { ...cluster, printers: cluster.printers.map(withSlots) } : cluster;
  });
  const { userId } = state.users[0]!;
  const projects = state.projects.map((project) => ({
    ...project,
    ...{ shared: true, userId, createdAt: state.clock.real, comments: [] },
  }));
  return { ...state, version: VERSION, clusters, projects };
}

const withAuthor = ({ message, ...job }: OlderJob): PrintJob => ({
  ...job,
  message: message === null ? null : { body: message, userId: null, username: null, at: job.createdAt },
});

function withSlots(printer: Printer): Printer {
  const slots = printer.extruders.flatMap(({ material, volumeLeft = SPOOL }, extruder) =>
    material === null ? [] : [{ extruder, material, remaining: volumeLeft / SPOOL }],
  );
  const upgraded = { ...printer, slots: newSlots(slots) };
  unload(upgraded);
  return upgraded;
}
