import { randomUUID } from 'node:crypto';
import type { ErrorCode, PrintingError } from '../../service/errors';
import type { SignInWatch } from '../../sign-in/sign-in-state';
import type { CurrentScope } from '../../state/scope';
import type { StateStore } from '../../state/store';
import type { Clock } from '../../time/clock';
import { phrase, type Sentence } from '../../words/sentence';
import { NAMED, nameFor, outageNotice, recoveryNotice, signedInNotice, signInNotice, type Concerned } from './notice';
import { covers, OutageMarks, printersOf, type Mark } from '../checkpoints/outage-marks';
import type { Outage, OutageMemory } from '../checkpoints/outage-memory';
import { LIST } from './poll-failures';
import type { Watch, WatcherReport } from '../watch-types';

/** Until all printers were asked, or so long after the first failure, an outage gathers printers, ms. */
const GATHERING = 75_000;
/** Nodes that start, or messages that end, at the same moment come before the notice of a sign-in, ms. */
const BRIEFLY = 2_000;
/** A mark of an outage that goes on is written again after so long, ms. */
const REFRESH = 3600_000;
/** The same where more printers have joined it, ms. */
const REFRESH_GROWN = 60_000;
const SIGN_IN = 'sign-in';
const SERVICE = 'service';
/** The service answered, and refused: no sign of an outage of the service itself. */
const REFUSALS: ReadonlySet<ErrorCode> = new Set(['NOT_FOUND', 'FORBIDDEN', 'INVALID_INPUT', 'NOT_ACCEPTED']);

interface OutagesOptions {
  store: StateStore;
  clock: Clock;
  scope: CurrentScope;
  signIn: SignInWatch & { info?(): { error: Sentence | null } };
  memory: OutageMemory;
  /** Ends with the watching. */
  signal: AbortSignal;
  nameOf: (clusterId: string) => string | null | undefined;
  /** Clusters that are polled here by themselves, and the list. */
  polled: () => string[];
  isPolled: (clusterId: string) => boolean;
  /** Watches of a cluster; of all clusters for null. */
  watchesOf: (clusterId: string | null) => Watch[];
  report: (event: WatcherReport) => void;
  fault: (thrown: unknown) => void;
}

/**
 * Outages of one account: each is reported once in the log and once to every audience, with the printers that it concerns,
 * whichever poll met it first. The end of a sign-in is an outage too (reference 3.1).
 */
export class Outages {
  readonly #parts: OutagesOptions;
  readonly #memory: OutageMemory;
  readonly #marks: OutageMarks;
  #reading = false;

  constructor(parts: OutagesOptions) {
    this.#parts = parts;
    this.#memory = parts.memory;
    this.#marks = new OutageMarks(parts);
    this.#memory.resume = (outage) => this.#gather(outage);
    for (const outage of this.#memory.open) if (!outage.isReported) this.#gather(outage);
  }

  close(): void {
    for (const { disarm } of this.#memory.open) disarm();
  }

  /** A poll of a cluster that began at `start` (monotonic, ms) is over. */
  polled(clusterId: string, error: PrintingError | null, start: number): void {
    void this.#readMarks();
    if (error) this.#failed(clusterId, error);
    else this.#read(clusterId, start);
  }

  /** A message has ended: by a failure of these clusters, its audience knows of their outage. */
  asked(audience: string, error: PrintingError | null, clusterIds: readonly string[]): void {
    for (const outage of this.#memory.open) {
      if (outage.told.has(audience)) continue;
      const isKnown =
        outage.kind === SIGN_IN
          ? error?.code === 'NOT_SIGNED_IN'
          : clusterIds.some((clusterId) => outage.members.has(clusterId));
      if (isKnown) outage.told.add(audience);
      if (outage.isReported && (isKnown || outage.kind === SIGN_IN))
        void this.#tell(outage, () => this.#parts.watchesOf(null));
    }
  }

  /** A failure of several clusters at once, in one sentence. */
  summary(error: PrintingError, clusterIds: readonly string[]): PrintingError {
    return outageNotice(error, this.#concerned(clusterIds));
  }

  /** A cluster is polled by another runtime from now on, or by this one again. */
  moved(clusterId: string): void {
    this.#memory.areMarksRead = false;
    for (const outage of [...this.#memory.open])
      if (outage.kind !== SIGN_IN && outage.members.delete(clusterId) && outage.members.size === 0) this.#drop(outage);
  }

  /** The sign-in may have ended, or begun. */
  signInChanged(): void {
    const { signIn, clock, polled } = this.#parts;
    const memory = this.#memory;
    const lost = memory.open.find(({ kind }) => kind === SIGN_IN);
    if (signIn.state === 'signed-in') {
      memory.wasSignedIn = true;
      if (lost) this.#end(lost);
      return;
    }
    const hasEnded = signIn.state === 'sign-in-needed' || (signIn.state === 'signed-out' && memory.wasSignedIn);
    if (!hasEnded || lost) return;
    const outage = this.#open(SIGN_IN, null, []);
    for (const clusterId of polled()) outage.members.add(clusterId);
    outage.disarm = clock.after(BRIEFLY, () => this.#report(outage));
  }

  /** A watch has begun. */
  watched(watch: Watch): void {
    const lost = this.#memory.open.find(({ kind, isReported }) => kind === SIGN_IN && isReported);
    if (lost && !watch.paused && !lost.told.has(watch.audience)) void this.#tell(lost, () => [watch]);
  }

  get #isSignInLost(): boolean {
    return this.#memory.open.some(({ kind }) => kind === SIGN_IN);
  }

  #failed(clusterId: string, error: PrintingError): void {
    const { isPolled, polled, watchesOf, clock } = this.#parts;
    if (!isPolled(clusterId) || (error.code === 'NOT_SIGNED_IN' && this.#isSignInLost)) return;
    const kind = REFUSALS.has(error.code) ? error.code : SERVICE;
    const others = this.#memory.open.filter((outage) => outage.members.has(clusterId) && outage.kind !== kind);
    for (const outage of others) if (outage.kind !== SIGN_IN) this.#leave(outage, clusterId, false);
    const open = this.#memory.open.filter((outage) => outage.kind === kind);
    const outage =
      open.find(({ members }) => members.has(clusterId)) ??
      open.findLast(({ fine }) => !fine.has(clusterId)) ??
      this.#adopt(kind, clusterId) ??
      this.#gather(this.#open(kind, error, polled()));
    if (!outage.members.has(clusterId)) outage.hasGrown = true;
    outage.members.add(clusterId);
    outage.error ??= error;
    if (!outage.isReported) return this.#look(outage);
    const isOld = clock.monotonic() - outage.markedAt > (outage.hasGrown ? REFRESH_GROWN : REFRESH);
    if (isOld || watchesOf(clusterId).some(({ audience, paused }) => !paused && !outage.told.has(audience)))
      void this.#tell(outage, () => watchesOf(clusterId));
  }

  #read(clusterId: string, start: number): void {
    const { memory } = this.#parts;
    for (const outage of [...memory.open]) {
      if (outage.kind === SIGN_IN || start < outage.began) continue;
      outage.fine.add(clusterId);
      this.#leave(outage, clusterId);
    }
    if (memory.marks.length === 0) return;
    for (const mark of memory.marks) {
      if (mark.kind === SIGN_IN) continue;
      // The outage may have ended while nothing polled here.
      if (mark.printers === null) this.#forget(mark);
      else if (mark.printers.includes(clusterId)) {
        const adopted = this.#adopt(mark.kind, clusterId);
        if (adopted) this.#leave(adopted, clusterId);
      }
    }
  }

  #leave(outage: Outage, clusterId: string, works = true): void {
    outage.members.delete(clusterId);
    // Clusters without a watch keep no outage open.
    for (const member of outage.members) if (this.#parts.isPolled(member)) return this.#look(outage);
    if (works) return this.#end(outage);
    this.#drop(outage);
    void this.#marks.change((marks) => marks.filter(({ id }) => id !== outage.id));
  }

  #open(kind: string, error: PrintingError | null, pending: readonly string[]): Outage {
    const { clock } = this.#parts;
    const outage: Outage = {
      ...{ id: randomUUID(), kind, error, since: clock.now(), began: clock.monotonic() },
      ...{ members: new Set<string>(), fine: new Set<string>(), pending, asked: 0, hasGrown: false },
      ...{ told: new Set<string>(), isReported: false, telling: null, concerned: null, markedAt: -Infinity },
      disarm: () => undefined,
    };
    this.#memory.open.push(outage);
    return outage;
  }

  /** Goes on with an outage that was reported before this process began, or elsewhere. */
  #adopt(kind: string, clusterId: string): Outage | null {
    const { memory, clock } = this.#parts;
    const mark = memory.marks.find((one) => covers(one, { kind, members: new Set([clusterId]) }));
    if (!mark) return null;
    memory.marks = memory.marks.filter((other) => other !== mark);
    const outage = this.#open(kind, null, []);
    outage.began = -Infinity;
    for (const printer of mark.printers ?? []) outage.members.add(printer);
    this.#become(outage, mark);
    outage.markedAt = clock.monotonic();
    return outage;
  }

  #become(outage: Outage, { id, since, told }: Mark): void {
    Object.assign(outage, { id, since, isReported: true });
    for (const audience of told) outage.told.add(audience);
    outage.concerned ??= this.#concerned([...outage.members]);
  }

  #gather(outage: Outage): Outage {
    const { clock } = this.#parts;
    const limit = outage.kind === SIGN_IN ? BRIEFLY : GATHERING;
    const wait = Math.max(0, outage.began + limit - clock.monotonic());
    outage.disarm = clock.after(wait, () => this.#report(outage));
    return outage;
  }

  /** Reports an outage as soon as every printer was asked. */
  #look(outage: Outage): void {
    if (outage.isReported) return;
    const { pending, fine } = outage;
    const isFailing = (clusterId: string) => this.#memory.open.some(({ members }) => members.has(clusterId));
    const wasAsked = (clusterId: string) => fine.has(clusterId) || isFailing(clusterId);
    while (outage.asked < pending.length && wasAsked(pending[outage.asked] ?? '')) outage.asked++;
    if (outage.asked >= pending.length) this.#report(outage);
  }

  #report(outage: Outage): void {
    const { watchesOf } = this.#parts;
    if (outage.isReported || !this.#memory.open.includes(outage)) return;
    outage.isReported = true;
    outage.disarm();
    outage.concerned = this.#concerned([...outage.members]);
    const watches = () =>
      outage.kind === SIGN_IN ? watchesOf(null) : [...new Set([...outage.members].flatMap((id) => watchesOf(id)))];
    outage.telling = this.#tell(outage, watches, true).then(() => {
      outage.telling = null;
    });
  }

  /** Hands a notice to every audience of these watches that has none, and then marks that. Never rejects. */
  async #tell(outage: Outage, watches: () => Watch[], isFirst = false): Promise<void> {
    const { signal, clock, report } = this.#parts;
    outage.markedAt = clock.monotonic();
    outage.hasGrown = false;
    await this.#marks.change((marks) => {
      if (signal.aborted) {
        // The next watching of this account reports it.
        if (!isFirst) return marks;
        outage.isReported = false;
        this.#memory.resume(outage);
        return marks;
      }
      const before = marks.find((mark) => mark.id === outage.id || covers(mark, outage));
      if (before) this.#become(outage, before);
      const error = this.#noticeOf(outage);
      if (isFirst && !before) report({ kind: 'outage', clusterId: outage.concerned?.clusterId ?? null, error });
      this.#deliver(outage, watches(), error);
      if (!this.#memory.open.includes(outage)) return marks.filter(({ id }) => id !== outage.id);
      const { id, since, kind, told } = outage;
      const printers = kind === SIGN_IN || before?.printers === null ? null : printersOf(outage.members);
      const mark: Mark = { id, since, at: clock.now(), kind, printers, told: [...told] };
      return [...marks.filter((other) => other !== before && other.id !== id), mark];
    });
  }

  #deliver(outage: Outage, watches: readonly Watch[], error: PrintingError): void {
    // Messages under way end with the failure themselves.
    const asking = new Set(watches.filter((watch) => watch.isAsking).map(({ audience }) => audience));
    for (const watch of watches) {
      const { audience } = watch;
      if (watch.paused || asking.has(audience) || outage.told.has(audience)) continue;
      outage.told.add(audience);
      watch.trouble(error);
    }
  }

  #noticeOf({ kind, error, members, concerned }: Outage): PrintingError {
    const { signIn } = this.#parts;
    const about = concerned ?? this.#concerned([...members]);
    const reason = signIn.info?.().error ?? phrase`Nobody is signed in any more: sign in with the account.`;
    return kind === SIGN_IN || !error ? signInNotice(reason, about) : outageNotice(error, about);
  }

  #concerned(clusterIds: readonly string[]): Concerned {
    const printers = clusterIds.filter((clusterId) => clusterId !== LIST);
    const names = printers.slice(0, NAMED).map((id) => nameFor(id, this.#parts.nameOf(id)));
    return { count: printers.length, names, clusterId: printers.length === 1 ? (printers[0] ?? null) : null };
  }

  #end(outage: Outage): void {
    const { clock, report } = this.#parts;
    this.#drop(outage);
    if (!outage.isReported || !outage.concerned) return;
    const lasted = Math.max(0, clock.now() - outage.since);
    const { kind, concerned } = outage;
    const sentence = kind === SIGN_IN ? signedInNotice(lasted) : recoveryNotice(concerned, lasted);
    const finish = () => {
      report({ kind: 'recovered', clusterId: concerned.clusterId, sentence });
      void this.#marks.change((marks) => marks.filter(({ id }) => id !== outage.id));
    };
    if (outage.telling) void outage.telling.then(finish);
    else finish();
  }

  #forget({ id }: Mark): void {
    this.#memory.marks = this.#memory.marks.filter((mark) => mark.id !== id);
    void this.#marks.change((marks) => marks.filter((mark) => mark.id !== id));
  }

  #drop(outage: Outage): void {
    outage.disarm();
    this.#memory.open = this.#memory.open.filter((other) => other !== outage);
  }

  /** Reads what an earlier process or another runtime has reported, once, and again after a cluster moved. Never rejects. */
  async #readMarks(): Promise<void> {
    const memory = this.#memory;
    if (memory.areMarksRead || this.#reading) return;
    this.#reading = true;
    try {
      const known = new Set(memory.open.map(({ id }) => id));
      memory.marks = (await this.#marks.read()).filter(({ id }) => !known.has(id));
      memory.areMarksRead = true;
      const signIn = memory.marks.find(({ kind }) => kind === SIGN_IN);
      if (signIn && !this.#isSignInLost) this.#forget(signIn);
    } catch {
      // The next poll reads them.
    }
    this.#reading = false;
  }
}
