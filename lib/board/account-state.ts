import type { ClusterView } from '../queue/records/statuses';
import { type ClusterStatus, isOnPrinter } from '../service/cluster';
import { isPlateWaiting, isUnderWay, occupiesPrinter } from '../service/job-words';
import type { PrintJob } from '../service/print-job';
import { blockingFault, type Extruder, type Printer, refusalOf, type Slot } from '../service/printer';
import { type Clock, isoTime } from '../time/clock';
import { Turns } from '../time/concurrency';
import { phrase, type Sentence } from '../words/sentence';
import type { BoardMaterial, BoardPrinter, BoardState, Need } from './shapes';

/** A cluster of the account, as it was seen last. */
export interface SeenCluster {
  clusterId: string;
  /** By the account's list; null where that lacks it. */
  listed: { name: string | null; online: boolean | null } | null;
  /** Undefined: never read. */
  view: ClusterView | undefined;
}

/** The printers and needs of a cluster on a board, and the figures that decide them. */
interface Shown {
  status: ClusterStatus | undefined;
  name: string | null;
  isOnline: boolean | null;
  isOld: boolean;
  printers: readonly BoardPrinter<Sentence>[];
  todo: readonly Need<Sentence>[];
}

/** Age from which figures are old, ms: two intervals of the shared polls. */
const OLD = 120_000;

/** The board of an account without a queue. Printers and needs that have not changed are the same objects as before. */
export class AccountState {
  #shown: ReadonlyMap<string, Shown> = new Map();

  constructor(private readonly clock: Clock) {}

  /** Lets the event loop turn meanwhile. */
  async of(clusters: Iterable<SeenCluster>, isSignedIn: boolean): Promise<BoardState<Sentence>> {
    const shown = new Map<string, Shown>();
    const turns = new Turns(this.clock);
    for (const cluster of clusters) {
      await turns.next();
      shown.set(cluster.clusterId, this.#show(cluster));
    }
    this.#shown = shown;
    const all = [...shown.values()];
    return {
      at: isoTime(this.clock.now()),
      printers: all.flatMap(({ printers }) => printers),
      items: [],
      orders: [],
      todo: [...(isSignedIn ? [] : [SIGN_IN]), ...all.flatMap(({ todo }) => todo)],
      counts: {},
      forecast: null,
    };
  }

  #show(cluster: SeenCluster): Shown {
    const { clusterId, listed, view } = cluster;
    const name = view?.status.name ?? listed?.name ?? null;
    const isOnline = view?.status.online ?? listed?.online ?? null;
    const isOld = view !== undefined && view.age > OLD;
    const before = this.#shown.get(clusterId);
    const isSame =
      before !== undefined &&
      before.status === view?.status &&
      before.name === name &&
      before.isOnline === isOnline &&
      before.isOld === isOld;
    if (isSame) return before;
    const printers = printersOf(cluster, { name, isOnline, isOld }, this.clock.now());
    return { status: view?.status, name, isOnline, isOld, printers, todo: printers.flatMap(needOf) };
  }
}

const SIGN_IN: Need<Sentence> = {
  ...{ id: 'sign-in', kind: 'sign-in', clusterId: null, printerId: null, itemId: null, since: null, answers: [] },
  text: phrase`The sign-in has ended: sign in again in the account's dialog in the editor.`,
};

function needOf({ clusterId, printerId, state, sentence }: BoardPrinter<Sentence>): Need<Sentence>[] {
  if (state !== 'offline' && state !== 'fault') return [];
  const id = JSON.stringify([state, clusterId, printerId]);
  return [{ id, kind: state, text: sentence, clusterId, printerId, itemId: null, since: null, answers: [] }];
}

function printersOf(
  { clusterId, view }: SeenCluster,
  { name, isOnline, isOld }: Pick<Shown, 'name' | 'isOnline' | 'isOld'>,
  now: number,
): BoardPrinter<Sentence>[] {
  const seenAt = view && isOld ? isoTime(now - view.age) : null;
  const bare = {
    ...{ clusterId, clusterName: name, seenAt, next: null, plate: null, paused: null, current: null, pictureAt: null },
    ...{ job: null, progress: null, endAt: null, materials: [] },
  };
  if (!view || view.printers.length === 0) {
    const [state, sentence] = isOnline === false ? (['offline', OFFLINE] as const) : (['unknown', UNSEEN] as const);
    return [{ ...bare, printerId: null, printerName: null, state, sentence }];
  }
  const isAlone = view.printers.length === 1;
  return view.printers.map((printer) => {
    const jobs = view.status.jobs.filter((job) => isAlone || isOnPrinter(job, printer, view.status));
    const job = jobs.find(isUnderWay) ?? jobs.find(occupiesPrinter) ?? jobs.find(isPlateWaiting) ?? null;
    const [state, sentence] = isOnline === false ? (['offline', OFFLINE] as const) : stateOf(printer, jobs, job);
    const { timeRemaining = null, progress = null } = job ?? {};
    const isRunning = job !== null && isUnderWay(job);
    return {
      ...bare,
      printerId: isAlone ? null : printer.printerId,
      printerName: printer.name,
      ...{ state, sentence, job, progress: isRunning ? progress : null },
      endAt: isRunning && timeRemaining !== null ? isoTime(now - view.age + timeRemaining * 1000) : null,
      materials: materialsOf(printer),
    };
  });
}

function stateOf(printer: Printer, jobs: readonly PrintJob[], job: PrintJob | null): [string, Sentence] {
  const fault = blockingFault(printer);
  if (printer.status === 'error' || fault) {
    const what = fault?.message ?? fault?.code;
    return ['fault', what ? phrase`The printer has a fault: ${what}.` : phrase`The printer has a fault.`];
  }
  if (printer.status === 'unreachable' || printer.status === 'booting') return ['offline', OFFLINE];
  if (job && isPlateWaiting(job))
    return ['plate', phrase`The printer asks for a clear plate: confirm it at the printer.`];
  if (job?.state === 'paused') return ['paused', phrase`The print is paused.`];
  if (job && isUnderWay(job)) return ['printing', phrase`Printing`];
  const refusal = refusalOf(printer);
  if (refusal === 'disabled') return [refusal, phrase`The printer accepts no jobs, as it was switched off for them.`];
  if (refusal === 'maintenance') return [refusal, phrase`The printer is under maintenance.`];
  if (refusal === 'updating') return ['maintenance', phrase`The firmware of the printer is being written.`];
  if (jobs.some(({ state }) => state === 'attention' || state === 'approval'))
    return ['attention', phrase`A print waits for a person at the printer.`];
  if (jobs.length > 0) return ['preparing', phrase`A print is about to begin.`];
  return printer.status === 'idle' ? ['idle', phrase`Ready`] : ['unknown', phrase`The printer is busy.`];
}

const OFFLINE = phrase`The printer is offline.`;
const UNSEEN = phrase`The printer was not seen lately.`;

const materialsOf = ({ extruders, slots }: Printer): BoardMaterial[] => [
  ...extruders.map(inExtruder),
  ...slots.filter(({ compatible }) => compatible !== false).map(inSlot),
];

function inExtruder({ index, material, volumeLeft, volumeFull }: Extruder): BoardMaterial {
  const left = volumeLeft !== null && volumeFull ? Math.min(1, volumeLeft / volumeFull) : null;
  return { extruder: index, slot: null, material: wordsOf(material), left, volume: volumeLeft };
}

const inSlot = ({ index, extruder, material, remaining }: Slot): BoardMaterial => ({
  ...{ extruder, slot: index, material: wordsOf(material), left: remaining, volume: null },
});

const wordsOf = (material: Extruder['material']): BoardMaterial['material'] =>
  material && { guid: material.guid, brand: material.brand, name: material.name, color: material.color };
