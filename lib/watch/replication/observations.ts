import { hash } from 'node:crypto';
import { readCheckpoint } from '../../events/checkpoint';
import { storedStatus } from '../../service/cluster';
import { amount, list, record, text } from '../../service/json-readers';
import type { PrintJob } from '../../service/print-job';
import type { Printer } from '../../service/printer';
import type { Membership } from '../../state/membership';
import type { Key, Scope, StateStore } from '../../state/store';
import type { Clock } from '../../time/clock';
import type { CheckpointStore } from '../checkpoints/checkpoint-store';
import { type JobFigures, jobFiguresOf } from '../checkpoints/figures';
import type { ScopeMemory } from '../checkpoints/memory';
import type { Poller } from '../polling/poller';
import type { Pollers } from '../polling/pollers';
import type { Shown } from '../polling/types';

/** Key kinds: what a cluster shows, and the clusters that a runtime has polled without a change. */
export const OBSERVATION = 'observation';
export const POLLED = 'polled';
/** Retention of what a cluster shows, ms; it is written anew after half of it. */
const KEPT = 24 * 3600_000;
/** Time for which polls without a change are collected, and the retention of their record, ms. */
const COLLECTED = 10_000;
const POLLED_KEPT = 3600_000;
/** Length of the words that name a cluster, and contents, in the record of polls without a change. */
const WORD = 8;
/** Most jobs whose figures such a record has of one cluster. */
const JOBS = 20;

interface SharedParts {
  store: StateStore;
  clock: Clock;
  checkpoints: () => CheckpointStore;
  pollers: () => Pollers;
}

/** What this runtime has shared of a cluster. */
interface Written {
  mark: string;
  /** When, monotonic, ms; null: it is not written yet. */
  at: number | null;
}

/** A poll that has shown nothing new but figures. */
interface Unchanged {
  mark: string;
  /** Monotonic, ms. */
  start: number;
  figures: readonly JobFigures[];
}

/**
 * What the polls of each runtime show, for those that wait for it (ADR 35). A change is a record of its cluster. Polls
 * without a change share one record of their runtime, so that their number costs no statements.
 */
export class SharedObservations {
  readonly #written = new Map<string, Written>();
  readonly #unchanged = new Map<string, Unchanged>();
  #disarm: (() => void) | undefined;

  constructor(
    private readonly membership: Membership,
    private readonly parts: SharedParts,
  ) {}

  end(): void {
    this.#disarm?.();
    this.#unchanged.clear();
  }

  /** Call after another runtime may have polled the cluster. */
  forget(clusterId: string): void {
    this.#written.delete(clusterId);
    this.#unchanged.delete(clusterId);
  }

  /** Shares a poll of a cluster that this runtime owns; `start`: monotonic, ms. */
  share({ scope }: ScopeMemory, clusterId: string, { checkpoint, status }: Shown, start: number): void {
    const { clock, checkpoints } = this.parts;
    const mark = markOf({ checkpoint, status });
    const known = this.#written.get(clusterId);
    if (known?.mark === mark && known.at !== null && clock.monotonic() - known.at < KEPT / 2) {
      this.#unchanged.set(clusterId, { mark, start, figures: jobFiguresOf(status).slice(0, JOBS) });
      this.#disarm ??= clock.after(COLLECTED, () => {
        this.#disarm = undefined;
        void this.#writePolled(scope);
      });
      return;
    }
    this.#unchanged.delete(clusterId);
    const shared: Written = { mark, at: null };
    this.#written.set(clusterId, shared);
    const value = () => ({ checkpoint, figures: status, mark, age: clock.monotonic() - start });
    const written = () => void (shared.at = clock.monotonic());
    checkpoints().publish(clusterId, [OBSERVATION, ...scope, clusterId], value, { keepFor: KEPT, written });
  }

  /** Never rejects: what can't be written now is outdated by the next polls. */
  async #writePolled(scope: Scope): Promise<void> {
    const { store, clock } = this.parts;
    const { lock, id } = this.membership;
    const now = clock.monotonic();
    const polled = [...this.#unchanged].map(([clusterId, { mark, start, figures }]) => [
      wordOf(clusterId),
      mark,
      Math.round(now - start),
      ...figures,
    ]);
    this.#unchanged.clear();
    if (!lock || polled.length === 0) return;
    const options = { keepFor: POLLED_KEPT, notify: true, under: [lock] };
    await store.put([POLLED, ...scope, id], { polled }, options).catch(() => undefined);
  }

  /** Passes what a cluster shows to the subscribers that wait for it. Rejects while it can't be read. */
  async receive(key: Key, clusterId: string, wanted: string | null = null): Promise<void> {
    if (!this.#waiting(clusterId)) return;
    const { checkpoint, figures, mark, age } = record(await this.parts.store.get<unknown>(key)) ?? {};
    const status = storedStatus(figures);
    const known = text(mark);
    // What this runtime missed may have been replaced meanwhile.
    if (!status || (wanted !== null && known !== wanted)) return;
    const shown = { checkpoint: readCheckpoint(checkpoint), status, mark: known, age: amount(age) ?? 0 };
    await this.#waiting(clusterId)?.receiveUpdate(shown);
  }

  /** The same for the clusters that a runtime has polled without a change. Rejects while they can't be read. */
  async receivePolled(key: Key, scope: Scope): Promise<void> {
    const waiting = new Map<string, Poller>();
    for (const { clusterId } of this.parts.pollers().values()) {
      const poller = this.#waiting(clusterId);
      if (poller) waiting.set(wordOf(clusterId), poller);
    }
    if (waiting.size === 0) return;
    const stored = record(await this.parts.store.get<unknown>(key));
    for (const entry of list(stored?.polled)) {
      const [word, mark, age, ...figures] = list(entry);
      const poller = typeof word === 'string' ? waiting.get(word) : undefined;
      if (!poller || typeof mark !== 'string' || typeof age !== 'number') continue;
      if (!poller.receiveSame(mark, age, figures.filter(areFigures)))
        await this.receive([OBSERVATION, ...scope, poller.clusterId], poller.clusterId, mark);
    }
  }

  #waiting(clusterId: string): Poller | undefined {
    const poller = this.parts.pollers().get(clusterId);
    return poller?.isWaitedFor && !poller.isOurs ? poller : undefined;
  }
}

const areFigures = (value: unknown): value is JobFigures =>
  Array.isArray(value) && value.length === 4 && value.every((one) => one === null || typeof one === 'number');

const shorten = (content: string): string => hash('sha256', content, 'base64').slice(0, WORD);

/** Short name of a cluster: each record names hundreds of them. */
const wordOf = (clusterId: string): string => shorten(clusterId);

/** Names everything that a poll has shown, except what changes by itself as long as nothing happens. */
const markOf = ({ checkpoint, status }: Shown): string => {
  const { receivedAt: _received, generatedAt: _generated, current: _current, ...rest } = status;
  const ends = checkpoint && [checkpoint.ended.map(({ id, type }) => [id, type]), checkpoint.jobs.map(({ id }) => id)];
  const printers = status.printers.map(withoutFigures);
  return shorten(JSON.stringify([{ ...rest, printers, jobs: status.jobs.map(withoutProgress) }, ends]));
};

/** A figure that appears or disappears is news. */
const withoutProgress = (job: PrintJob): object => ({
  ...job,
  progress: job.progress === null,
  timeElapsed: job.timeElapsed === null,
  timeTotal: job.timeTotal === null,
  timeRemaining: job.timeRemaining === null,
});

/** What is left of a material matters as soon as the printer is idle. */
function withoutFigures(printer: Printer): object {
  const { status, extruders, slots, buildPlate, chamber: _chamber, airFilter, ...rest } = printer;
  const isIdle = status === 'idle';
  return {
    ...{ status, ...rest, buildPlate: buildPlate?.type, airFilter: airFilter?.status },
    extruders: extruders.map(({ temperature: _temperature, volumeLeft, ...extruder }) => ({
      ...extruder,
      volumeLeft: isIdle ? volumeLeft : null,
    })),
    slots: slots.map(({ remaining, ...slot }) => ({ ...slot, remaining: isIdle ? remaining : null })),
  };
}
