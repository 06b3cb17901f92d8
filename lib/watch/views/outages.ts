import { type ErrorCode, PrintingError, revised } from '../../service/errors';
import type { SignInWatch } from '../../sign-in/sign-in-state';
import type { CurrentScope, StateStore } from '../../state/store';
import type { Clock } from '../../time/clock';
import { phrase, type Sentence } from '../../words/sentence';
import {
  type AffectedPrinters,
  covers,
  type Mark,
  newOutage,
  type Outage,
  OutageMarks,
  type OutageMemory,
  printersOf,
  SIGN_IN,
} from '../checkpoints/outages';
import { LIST } from '../polling/types';
import type { Watch, WatcherReport } from './watch';

/** Number of names in a notice; the others are counted. */
export const NAMED = 3;
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

export const signedInNotice = (duration: number): Sentence =>
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

interface OutageNoticesOptions {
  signIn: { info?(): { error: Sentence | null } };
  nameOf: (clusterId: string) => string | null | undefined;
}

/** Notices of one account's outages, with the names of the affected printers. */
export class OutageNotices {
  constructor(private readonly options: OutageNoticesOptions) {}

  affected(clusterIds: readonly string[]): AffectedPrinters {
    const printers = clusterIds.filter((clusterId) => clusterId !== LIST);
    const names = printers.slice(0, NAMED).map((id) => nameFor(id, this.options.nameOf(id)));
    return { count: printers.length, names, clusterId: printers.length === 1 ? (printers[0] ?? null) : null };
  }

  noticeOf({ kind, error, members, affected }: Outage): PrintingError {
    const { signIn } = this.options;
    const about = affected ?? this.affected([...members]);
    const reason = signIn.info?.().error ?? phrase`Nobody is signed in any more: sign in with the account.`;
    return kind === SIGN_IN || !error ? signInNotice(reason, about) : outageNotice(error, about);
  }

  /** Sentence at the end of an outage that lasted `duration` ms. */
  recoveryOf({ kind }: Outage, affected: AffectedPrinters, duration: number): Sentence {
    return kind === SIGN_IN ? signedInNotice(duration) : recoveryNotice(affected, duration);
  }

  /** Combines a failure of several clusters in one sentence. */
  summary(error: PrintingError, clusterIds: readonly string[]): PrintingError {
    return outageNotice(error, this.affected(clusterIds));
  }
}

/** Delivers a notice to each audience that lacks it. */
export function deliver({ notified }: Outage, watches: readonly Watch[], error: PrintingError): void {
  // Requests in flight report the failure themselves.
  const asking = new Set(watches.filter((watch) => watch.isAsking).map(({ audience }) => audience));
  for (const watch of watches) {
    const { audience } = watch;
    if (watch.paused || asking.has(audience) || notified.has(audience)) continue;
    notified.add(audience);
    watch.notify(error);
  }
}

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

interface OutagesOptions {
  account: {
    store: StateStore;
    clock: Clock;
    scope: CurrentScope;
    signIn: SignInWatch & { info?(): { error: Sentence | null } };
    /** Aborts when the watcher closes. */
    signal: AbortSignal;
  };
  memory: OutageMemory;
  polls: {
    nameOf: (clusterId: string) => string | null | undefined;
    /** Clusters that this runtime polls regularly, and the list. */
    polled: () => string[];
    isPolled: (clusterId: string) => boolean;
    /** Watches of a cluster; for null, all watches. */
    watchesOf: (clusterId: string | null) => Watch[];
  };
  report: (event: WatcherReport) => void;
  fault: (thrown: unknown) => void;
}

/**
 * Outages of one account. Each is reported once in the log and once to every audience, with the affected printers. The
 * end of a sign-in counts as an outage too (reference 3.1).
 */
export class Outages {
  readonly #parts: OutagesOptions;
  readonly #memory: OutageMemory;
  readonly #marks: OutageMarks;
  readonly #notices: OutageNotices;

  constructor(parts: OutagesOptions) {
    this.#parts = parts;
    this.#memory = parts.memory;
    this.#marks = new OutageMarks({ ...parts.account, fault: parts.fault }, parts.memory);
    this.#notices = new OutageNotices({ signIn: parts.account.signIn, nameOf: parts.polls.nameOf });
    this.#memory.resume = (outage) => this.#scheduleReport(outage);
    for (const outage of this.#memory.open) if (!outage.isReported) this.#scheduleReport(outage);
  }

  close(): void {
    for (const { disarm } of this.#memory.open) disarm();
  }

  /** Records the outcome of a poll that began at `start` (monotonic, ms). */
  polled(clusterId: string, start: number, error: PrintingError | null): void {
    void this.#marks.load();
    if (error) this.#recordFailure(clusterId, error);
    else this.#recordSuccess(clusterId, start);
  }

  /** Records the end of a request: its failure informs the audience of an outage of these clusters. */
  requestEnded(audience: string, error: PrintingError | null, clusterIds: readonly string[]): void {
    for (const outage of this.#memory.open) {
      if (outage.notified.has(audience)) continue;
      const isKnown =
        outage.kind === SIGN_IN
          ? error?.code === 'NOT_SIGNED_IN'
          : clusterIds.some((clusterId) => outage.members.has(clusterId));
      if (isKnown) outage.notified.add(audience);
      if (outage.isReported && (isKnown || outage.kind === SIGN_IN))
        void this.#notify(outage, () => this.#parts.polls.watchesOf(null));
    }
  }

  /** Combines a failure of several clusters in one sentence. */
  summary(error: PrintingError, clusterIds: readonly string[]): PrintingError {
    return this.#notices.summary(error, clusterIds);
  }

  /** Call after the polls of a cluster moved to another runtime, or to this one. */
  ownerChanged(clusterId: string): void {
    this.#memory.areMarksRead = false;
    for (const outage of [...this.#memory.open])
      if (outage.kind !== SIGN_IN && outage.members.delete(clusterId) && outage.members.size === 0) this.#drop(outage);
  }

  /** Call after the sign-in may have ended or begun. */
  signInChanged(): void {
    const { account, polls } = this.#parts;
    const { signIn, clock } = account;
    const memory = this.#memory;
    const lost = memory.open.find(({ kind }) => kind === SIGN_IN);
    if (signIn.state === 'signed-in') {
      memory.wasSignedIn = true;
      if (lost) this.#end(lost);
      return;
    }
    const hasEnded = signIn.state === 'sign-in-needed' || (signIn.state === 'signed-out' && memory.wasSignedIn);
    if (!hasEnded || lost) return;
    const outage = this.#openOutage(SIGN_IN, null, []);
    for (const clusterId of polls.polled()) outage.members.add(clusterId);
    outage.disarm = clock.after(SIGN_IN_DELAY, () => this.#report(outage));
  }

  /** Notifies a new watch of a lost sign-in. */
  watched(watch: Watch): void {
    const lost = this.#memory.open.find(({ kind, isReported }) => kind === SIGN_IN && isReported);
    if (lost && !watch.paused && !lost.notified.has(watch.audience)) void this.#notify(lost, () => [watch]);
  }

  #recordFailure(clusterId: string, error: PrintingError): void {
    const { isPolled, polled, watchesOf } = this.#parts.polls;
    if (!isPolled(clusterId) || (error.code === 'NOT_SIGNED_IN' && this.#memory.isSignInLost)) return;
    const kind = REFUSALS.has(error.code) ? error.code : SERVICE;
    const others = this.#memory.open.filter((outage) => outage.members.has(clusterId) && outage.kind !== kind);
    for (const outage of others) if (outage.kind !== SIGN_IN) this.#removeMember(outage, clusterId, false);
    const open = this.#memory.open.filter((outage) => outage.kind === kind);
    const outage =
      open.find(({ members }) => members.has(clusterId)) ??
      open.findLast(({ recovered }) => !recovered.has(clusterId)) ??
      this.#adopt(kind, clusterId) ??
      this.#scheduleReport(this.#openOutage(kind, error, polled()));
    if (!outage.members.has(clusterId)) outage.hasGrown = true;
    outage.members.add(clusterId);
    outage.error ??= error;
    if (!outage.isReported) return this.#reportWhenComplete(outage);
    const isOld = this.#parts.account.clock.monotonic() - outage.markedAt > (outage.hasGrown ? REFRESH_GROWN : REFRESH);
    if (isOld || watchesOf(clusterId).some(({ audience, paused }) => !paused && !outage.notified.has(audience)))
      void this.#notify(outage, () => watchesOf(clusterId));
  }

  #recordSuccess(clusterId: string, start: number): void {
    const { memory } = this.#parts;
    for (const outage of [...memory.open]) {
      if (outage.kind === SIGN_IN || start < outage.began) continue;
      outage.recovered.add(clusterId);
      this.#removeMember(outage, clusterId);
    }
    if (memory.marks.length === 0) return;
    for (const mark of memory.marks) {
      if (mark.kind === SIGN_IN) continue;
      // The outage may have ended while this runtime did not poll.
      if (mark.printers === null) this.#marks.forget(mark);
      else if (mark.printers.includes(clusterId)) {
        const adopted = this.#adopt(mark.kind, clusterId);
        if (adopted) this.#removeMember(adopted, clusterId);
      }
    }
  }

  #removeMember(outage: Outage, clusterId: string, works = true): void {
    outage.members.delete(clusterId);
    // A cluster that is not polled keeps no outage open.
    for (const member of outage.members)
      if (this.#parts.polls.isPolled(member)) return this.#reportWhenComplete(outage);
    if (works) return this.#end(outage);
    this.#drop(outage);
    this.#marks.forget(outage);
  }

  #openOutage(kind: string, error: PrintingError | null, pending: readonly string[]): Outage {
    const { clock } = this.#parts.account;
    const outage = newOutage({ kind, error, pending, since: clock.now(), began: clock.monotonic() });
    this.#memory.open.push(outage);
    return outage;
  }

  /** Resumes an outage that an earlier process or another runtime has reported. */
  #adopt(kind: string, clusterId: string): Outage | null {
    const mark = this.#marks.adopt(kind, clusterId);
    if (!mark) return null;
    const outage = this.#openOutage(kind, null, []);
    outage.began = -Infinity;
    for (const printer of mark.printers ?? []) outage.members.add(printer);
    this.#mergeMark(outage, mark);
    outage.markedAt = this.#parts.account.clock.monotonic();
    return outage;
  }

  #mergeMark(outage: Outage, { id, since, told }: Mark): void {
    Object.assign(outage, { id, since, isReported: true });
    for (const audience of told) outage.notified.add(audience);
    outage.affected ??= this.#notices.affected([...outage.members]);
  }

  #scheduleReport(outage: Outage): Outage {
    const { clock } = this.#parts.account;
    const limit = outage.kind === SIGN_IN ? SIGN_IN_DELAY : COLLECT_WITHIN;
    const wait = Math.max(0, outage.began + limit - clock.monotonic());
    outage.disarm = clock.after(wait, () => this.#report(outage));
    return outage;
  }

  /** Reports an outage as soon as every printer was polled. */
  #reportWhenComplete(outage: Outage): void {
    if (outage.isReported) return;
    const { pending, recovered } = outage;
    const isFailing = (clusterId: string) => this.#memory.open.some(({ members }) => members.has(clusterId));
    const wasPolled = (clusterId: string) => recovered.has(clusterId) || isFailing(clusterId);
    while (outage.polled < pending.length && wasPolled(pending[outage.polled] ?? '')) outage.polled++;
    if (outage.polled >= pending.length) this.#report(outage);
  }

  #report(outage: Outage): void {
    const { watchesOf } = this.#parts.polls;
    if (outage.isReported || !this.#memory.open.includes(outage)) return;
    outage.isReported = true;
    outage.disarm();
    outage.affected = this.#notices.affected([...outage.members]);
    const watches = () =>
      outage.kind === SIGN_IN ? watchesOf(null) : [...new Set([...outage.members].flatMap((id) => watchesOf(id)))];
    outage.notifying = this.#notify(outage, watches, true).then(() => {
      outage.notifying = null;
    });
  }

  /** Notifies the audiences of these watches that lack the notice, and then updates the mark. Never rejects. */
  async #notify(outage: Outage, watches: () => Watch[], isFirst = false): Promise<void> {
    const { account, report } = this.#parts;
    const { signal, clock } = account;
    outage.markedAt = clock.monotonic();
    outage.hasGrown = false;
    await this.#marks.change((marks) => {
      if (signal.aborted) {
        // The account's next watcher reports it.
        if (!isFirst) return marks;
        outage.isReported = false;
        this.#memory.resume(outage);
        return marks;
      }
      const before = marks.find((mark) => mark.id === outage.id || covers(mark, outage));
      if (before) this.#mergeMark(outage, before);
      const error = this.#notices.noticeOf(outage);
      if (isFirst && !before) report({ kind: 'outage', clusterId: outage.affected?.clusterId ?? null, error });
      deliver(outage, watches(), error);
      if (!this.#memory.open.includes(outage)) return marks.filter(({ id }) => id !== outage.id);
      const { id, since, kind, notified } = outage;
      const printers = kind === SIGN_IN || before?.printers === null ? null : printersOf(outage.members);
      const mark: Mark = { id, since, at: clock.now(), kind, printers, told: [...notified] };
      return [...marks.filter((other) => other !== before && other.id !== id), mark];
    });
  }

  #end(outage: Outage): void {
    const { account, report } = this.#parts;
    const { clock } = account;
    const { affected, began, since, isReported } = outage;
    this.#drop(outage);
    if (!isReported || !affected) return;
    // The wall clock, which may have been set, dates only outages from before this process.
    const lasted = Math.max(0, Number.isFinite(began) ? clock.monotonic() - began : clock.now() - since);
    const sentence = this.#notices.recoveryOf(outage, affected, lasted);
    const finish = () => {
      report({ kind: 'recovered', clusterId: affected.clusterId, sentence });
      this.#marks.forget(outage);
    };
    void (outage.notifying ? outage.notifying.then(finish) : finish());
  }

  #drop(outage: Outage): void {
    outage.disarm();
    this.#memory.open = this.#memory.open.filter((other) => other !== outage);
  }
}
