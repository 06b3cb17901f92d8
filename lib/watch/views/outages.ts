import { type ErrorCode, PrintingError, revised } from '../../service/errors';
import type { SignInWatch } from '../../sign-in/sign-in-state';
import type { CurrentScope, StateStore } from '../../state/store';
import type { Clock } from '../../time/clock';
import { phrase, type Sentence } from '../../words/sentence';
import {
  type AffectedPrinters,
  covers,
  type Mark,
  markOf,
  Outage,
  OutageMarks,
  type OutageMemory,
  SIGN_IN,
} from '../checkpoints/outage-marks';
import { LIST } from '../polling/types';

/** Longest time after the first failure to collect affected printers before the notice, ms. */
const COLLECT_WITHIN = 75_000;
/** Delay of a sign-in notice, so that starting nodes and ending messages come first, ms. */
const SIGN_IN_DELAY = 2_000;
/** Age from which the mark of an open outage is rewritten, ms. */
const REFRESH = 3600_000;
/** The same for an outage that has grown, ms. */
const REFRESH_GROWN = 60_000;
const SERVICE = 'service';
/** Codes of refusals by a working service: no outage of the service itself. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(['NOT_FOUND', 'FORBIDDEN', 'INVALID_INPUT', 'NOT_ACCEPTED']);

export interface NoticeReceiver {
  readonly audience: string;
  readonly paused: boolean;
  /** Whether a message waits for a poll; the message then reports the failure. */
  readonly isAsking: boolean;
  /** Whether it watches a cluster, or reads the list (`LIST`). */
  watches(clusterId: string): boolean;
  notify(error: PrintingError): void;
}

interface OutagesOptions {
  store: StateStore;
  clock: Clock;
  scope: CurrentScope;
  signIn: SignInWatch & { info?(): { error: Sentence | null } };
  /** Aborts when the watcher closes. */
  signal: AbortSignal;
  memory: OutageMemory;
  nameOf: (clusterId: string) => string | null | undefined;
  /** Clusters that this runtime polls regularly. */
  polledIds: () => string[];
  /** Whether this runtime polls a cluster, or reads the list (`LIST`). */
  isPolled: (clusterId: string) => boolean;
  watches: ReadonlySet<NoticeReceiver>;
  report: (event: WatcherReport) => void;
  fault: (thrown: unknown) => void;
}

/**
 * Outages of one account. Each is reported once in the log and once to every audience, with the affected printers, as
 * soon as every printer was polled. The end of a sign-in counts as an outage too (reference 3.1).
 */
export class Outages {
  readonly #memory: OutageMemory;
  readonly #marks: OutageMarks;

  constructor(private readonly options: OutagesOptions) {
    this.#memory = options.memory;
    this.#marks = new OutageMarks(options);
    for (const outage of this.#memory.open) if (!outage.isReported) this.#scheduleReport(outage);
  }

  close(): void {
    for (const { disarm } of this.#memory.open) disarm();
  }

  /** Records the outcome of a poll that began at `start` (monotonic, ms). */
  polled(clusterId: string, start: number, error: PrintingError | null): void {
    if (!this.#memory.areMarksRead) void this.#marks.load();
    if (error) this.#recordFailure(clusterId, error);
    else this.#recordSuccess(clusterId, start);
  }

  #recordFailure(clusterId: string, error: PrintingError): void {
    const { isPolled, watches, clock } = this.options;
    const { open, signIn } = this.#memory;
    if (!isPolled(clusterId) || (error.code === 'NOT_SIGNED_IN' && signIn)) return;
    const kind = REFUSALS.has(error.code) ? error.code : SERVICE;
    // A failure of another kind ends no outage, but the outage of other printers may end without this one.
    for (const other of open)
      if (other.kind !== kind && other.kind !== SIGN_IN && other.failing.size > 1) other.failing.delete(clusterId);
    const outage = this.#outageOf(kind, clusterId) ?? this.#open(kind, error);
    outage.hasGrown ||= !outage.failing.has(clusterId);
    outage.failing.add(clusterId);
    outage.error ??= error;
    for (const waiting of this.#memory.open) this.#removePending(waiting, clusterId);
    if (!outage.isReported) return;
    const isOld = clock.monotonic() - outage.markedAt > (outage.hasGrown ? REFRESH_GROWN : REFRESH);
    const lacksNotice = (watch: NoticeReceiver) =>
      !watch.paused && !outage.told.has(watch.audience) && watch.watches(clusterId);
    if (isOld || [...watches].some(lacksNotice)) void this.#notify(outage);
  }

  /** Returns the known outage that a failure belongs to. */
  #outageOf(kind: string, clusterId: string): Outage | undefined {
    const open = this.#memory.open.filter((outage) => outage.kind === kind);
    return (
      open.find(({ failing }) => failing.has(clusterId)) ??
      open.findLast(({ recovered }) => !recovered.has(clusterId)) ??
      this.#adopt(kind, clusterId)
    );
  }

  #open(kind: string, error: PrintingError | null): Outage {
    const { clock, polledIds } = this.options;
    const isFailing = (clusterId: string) => this.#memory.open.some(({ failing }) => failing.has(clusterId));
    const pending = new Set(polledIds().filter((clusterId) => !isFailing(clusterId)));
    const outage = new Outage(kind, error, clock.now(), clock.monotonic(), pending);
    this.#memory.open.push(outage);
    this.#scheduleReport(outage);
    return outage;
  }

  /** Resumes an outage that an earlier process or another runtime has reported. */
  #adopt(kind: string, clusterId: string): Outage | undefined {
    const mark = this.#marks.adopt(kind, clusterId);
    if (!mark) return undefined;
    const outage = new Outage(kind, null, mark.since, -Infinity);
    for (const printer of mark.printers ?? []) outage.failing.add(printer);
    this.#memory.open.push(outage);
    this.#mergeMark(outage, mark);
    outage.markedAt = this.options.clock.monotonic();
    return outage;
  }

  #mergeMark(outage: Outage, { id, since, told }: Mark): void {
    Object.assign(outage, { id, since, isReported: true });
    for (const audience of told) outage.told.add(audience);
    outage.affected ??= this.#affected(outage.failing);
  }

  #recordSuccess(clusterId: string, start: number): void {
    for (const outage of [...this.#memory.open]) {
      if (outage.kind === SIGN_IN || start < outage.began) continue;
      outage.recovered.add(clusterId);
      this.#removeCluster(outage, clusterId);
    }
    for (const mark of this.#memory.marks) {
      if (mark.kind === SIGN_IN) continue;
      // The outage may have ended while this runtime did not poll.
      if (mark.printers === null) this.#marks.forget(mark);
      else if (mark.printers.includes(clusterId)) {
        const adopted = this.#adopt(mark.kind, clusterId);
        if (adopted) this.#removeCluster(adopted, clusterId);
      }
    }
  }

  /** Removes a cluster that was read from an outage, which may end it. */
  #removeCluster(outage: Outage, clusterId: string): void {
    outage.failing.delete(clusterId);
    // A cluster that is not polled keeps no outage open.
    for (const other of outage.failing) if (this.options.isPolled(other)) return this.#removePending(outage, clusterId);
    this.#end(outage);
  }

  /** Reports an outage as soon as every printer was polled. */
  #removePending(outage: Outage, clusterId: string): void {
    outage.pending.delete(clusterId);
    if (outage.pending.size === 0 && outage.kind !== SIGN_IN) this.#report(outage);
  }

  #scheduleReport(outage: Outage): void {
    const { clock } = this.options;
    const limit = outage.kind === SIGN_IN ? SIGN_IN_DELAY : COLLECT_WITHIN;
    const wait = Math.max(0, outage.began + limit - clock.monotonic());
    // An earlier watcher closed before its report was delivered.
    outage.affected = null;
    outage.disarm = clock.after(wait, () => this.#report(outage));
  }

  #report(outage: Outage): void {
    if (outage.affected || !this.#memory.open.includes(outage)) return;
    outage.disarm();
    outage.affected = this.#affected(outage.failing);
    outage.reporting = this.#notify(outage);
  }

  /** Notifies every audience that lacks the notice, and then updates the mark. Never rejects. */
  async #notify(outage: Outage): Promise<void> {
    const { signal, clock, report } = this.options;
    outage.markedAt = clock.monotonic();
    outage.hasGrown = false;
    await this.#marks.change((marks) => {
      // The account's next watcher reports it.
      if (signal.aborted) return marks;
      const before = marks.find((mark) => mark.id === outage.id || covers(mark, outage));
      if (before) this.#mergeMark(outage, before);
      const error = this.#noticeOf(outage);
      if (!outage.isReported) report({ kind: 'outage', clusterId: outage.affected?.clusterId ?? null, error });
      outage.isReported = true;
      this.#deliver(outage, error);
      const others = marks.filter((mark) => mark !== before && mark.id !== outage.id);
      return this.#memory.open.includes(outage) ? [...others, markOf(outage, clock.now(), before)] : others;
    });
  }

  #deliver({ kind, failing, told }: Outage, error: PrintingError): void {
    const clusterIds = [...failing];
    const receivers = [...this.options.watches].filter(
      (watch) => kind === SIGN_IN || clusterIds.some((clusterId) => watch.watches(clusterId)),
    );
    // Requests in flight report the failure themselves.
    const asking = new Set(receivers.filter((watch) => watch.isAsking).map(({ audience }) => audience));
    for (const watch of receivers) {
      const { audience } = watch;
      if (watch.paused || asking.has(audience) || told.has(audience)) continue;
      told.add(audience);
      watch.notify(error);
    }
  }

  #end(outage: Outage): void {
    const { clock, report } = this.options;
    const { affected, began, since, reporting } = outage;
    this.#drop(outage);
    if (!affected) return;
    // The wall clock, which may have been set, dates only outages from before this process.
    const lasted = Math.max(0, Number.isFinite(began) ? clock.monotonic() - began : clock.now() - since);
    const sentence = outage.kind === SIGN_IN ? signedInNotice(lasted) : recoveryNotice(affected, lasted);
    void reporting.then(() => {
      if (outage.isReported) report({ kind: 'recovered', clusterId: affected.clusterId, sentence });
      this.#marks.forget(outage);
    });
  }

  #drop(outage: Outage): void {
    outage.disarm();
    this.#memory.open = this.#memory.open.filter((other) => other !== outage);
  }

  /** Call after the sign-in may have ended or begun. */
  signInChanged(): void {
    const { signIn, polledIds } = this.options;
    const memory = this.#memory;
    const lost = memory.signIn;
    if (signIn.state === 'signed-in') {
      memory.wasSignedIn = true;
      if (lost) this.#end(lost);
      return;
    }
    const hasEnded = signIn.state === 'sign-in-needed' || (signIn.state === 'signed-out' && memory.wasSignedIn);
    if (!hasEnded || lost) return;
    const outage = this.#open(SIGN_IN, null);
    for (const clusterId of polledIds()) outage.failing.add(clusterId);
  }

  /** Records the end of a request: its failure informs the audience of an outage of these clusters. */
  requestEnded(audience: string, error: PrintingError | null, clusterIds: readonly string[]): void {
    for (const outage of this.#memory.open) {
      if (outage.told.has(audience)) continue;
      const isKnown =
        outage.kind === SIGN_IN
          ? error?.code === 'NOT_SIGNED_IN'
          : clusterIds.some((clusterId) => outage.failing.has(clusterId));
      if (isKnown) outage.told.add(audience);
      if (outage.isReported && (isKnown || outage.kind === SIGN_IN)) void this.#notify(outage);
    }
  }

  /** Call after the polls of a cluster moved to another runtime, or to this one. */
  ownerChanged(clusterId: string): void {
    this.#memory.areMarksRead = false;
    for (const outage of [...this.#memory.open]) {
      if (outage.kind === SIGN_IN) continue;
      outage.pending.delete(clusterId);
      if (outage.failing.delete(clusterId) && outage.failing.size === 0) this.#drop(outage);
    }
  }

  /** Notifies a new watch of a lost sign-in. */
  opened(watch: NoticeReceiver): void {
    const lost = this.#memory.signIn;
    if (lost?.isReported && !watch.paused && !lost.told.has(watch.audience)) void this.#notify(lost);
  }

  #noticeOf({ kind, error, failing, affected }: Outage): PrintingError {
    const about = affected ?? this.#affected(failing);
    if (kind !== SIGN_IN && error) return outageNotice(error, about);
    const reason = this.options.signIn.info?.().error;
    return signInNotice(reason ?? phrase`Nobody is signed in any more: sign in with the account.`, about);
  }

  /** Combines a failure of several clusters in one sentence. */
  summary(error: PrintingError, clusterIds: readonly string[]): PrintingError {
    return outageNotice(error, this.#affected(clusterIds));
  }

  #affected(clusterIds: Iterable<string>): AffectedPrinters {
    const printers = [...clusterIds].filter((clusterId) => clusterId !== LIST);
    const names = printers.slice(0, NAMED).map((id) => nameFor(id, this.options.nameOf(id)));
    return { count: printers.length, names, clusterId: printers.length === 1 ? (printers[0] ?? null) : null };
  }
}

/** Log entry. `fault`: the store or a listener failed; watching continues. `clusterId` null: the list, or several. */
export interface WatcherReport {
  kind: 'outage' | 'recovered' | 'fault';
  clusterId: string | null;
  error?: PrintingError;
  /** Reports the end of the outage. */
  sentence?: Sentence;
}

/** Log that operators read. */
export interface Log {
  warn(sentence: Sentence): void;
  info(sentence: Sentence): void;
}

/** Writes a watcher's report to the log. A cluster appears as the first characters of its id. */
export function logReport(log: Log, { kind, clusterId, error, sentence }: WatcherReport): void {
  const reason = error?.sentence ?? phrase`The reason is not known.`;
  if (kind === 'outage') return log.warn(reason);
  if (kind === 'recovered') return sentence && log.info(sentence);
  const what = clusterId === null ? phrase`the list of printers` : phrase`printer ${clusterId.slice(0, 6)}…`;
  log.warn(phrase`A fault occurred while watching ${what}: ${reason}`);
}

/** Number of names in a notice; the others are counted. */
const NAMED = 3;
/** Longest name in a notice, characters. */
const LONGEST_NAME = 60;

/** Shortens a printer's name for a notice; without a name, returns the first characters of its id. */
export function nameFor(clusterId: string, name: string | null | undefined): string {
  if (!name) return `${clusterId.slice(0, 6)}…`;
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name;
}

/** Notice of an outage. It names the list of printers if no printer is affected. */
export function outageNotice(error: PrintingError, affected: AffectedPrinters): PrintingError {
  const { sentence, ids } = error;
  const { clusterId } = affected;
  return revised(error, {
    sentence: phrase`${whatOf(affected)}: ${sentence}`,
    ids: { ...ids, clusterId: clusterId ?? undefined },
  });
}

const whatOf = (affected: AffectedPrinters): Sentence => {
  const { count, names } = affected;
  if (count === 0) return phrase`The list of printers can’t be read`;
  if (count === 1) return phrase`Printer ${names[0] ?? ''} can’t be read`;
  return phrase`${count} printers can’t be read (${listOf(affected)})`;
};

/** Notice of the end of an outage. */
export function recoveryNotice(affected: AffectedPrinters, duration: number): Sentence {
  const { count, names } = affected;
  if (count === 0) return phrase`The list of printers can be read again after ${formatDuration(duration)}.`;
  if (count === 1) return phrase`Printer ${names[0] ?? ''} can be read again after ${formatDuration(duration)}.`;
  return phrase`${count} printers (${listOf(affected)}) can be read again after ${formatDuration(duration)}.`;
}

/** Notice of the end of a sign-in. */
export function signInNotice(reason: Sentence, affected: AffectedPrinters): PrintingError {
  const { count, names, clusterId } = affected;
  const sentence =
    count === 0
      ? reason
      : count === 1
        ? phrase`${reason} Until then printer ${names[0] ?? ''} can’t be read.`
        : phrase`${reason} Until then ${count} printers can’t be read (${listOf(affected)}).`;
  return new PrintingError('NOT_SIGNED_IN', sentence, {
    outcome: 'not-sent',
    ids: clusterId === null ? {} : { clusterId },
  });
}

const signedInNotice = (duration: number): Sentence =>
  phrase`The account is signed in again after ${formatDuration(duration)}.`;

function listOf({ count, names }: AffectedPrinters): Sentence {
  const [one = '', two = '', three = ''] = names;
  if (count === 2) return phrase`${one} and ${two}`;
  if (count === 3) return phrase`${one}, ${two} and ${three}`;
  return phrase`${one}, ${two}, ${three} and ${count - NAMED} more`;
}

/** Formats a duration, ms, in suitable units. */
function formatDuration(ms: number): Sentence {
  const seconds = Math.round(ms / 1000);
  if (seconds < 90) return phrase`${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return phrase`${minutes} min`;
  return phrase`${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
