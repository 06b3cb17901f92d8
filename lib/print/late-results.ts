import { randomUUID } from 'node:crypto';
import { asPrintingError } from '../service/errors';
import type { SignInWatch } from '../sign-in/sign-in-state';
import type { CurrentScope, Scope } from '../state/scope';
import type { StateStore } from '../state/store';
import { waitBefore } from '../time/backoff';
import { sleep, type Clock } from '../time/clock';
import { Deadline } from '../time/deadline';
import type { Peers } from '../watch/replication/peers';
import type { Watcher } from '../watch/watcher';
import { awaitEnd, noteEnd } from './awaited-end';
import type { HandedOver, PendingWait, PendingWaits, WaitOwner } from './pending-waits';
import { Ledger } from './ledger';
import { failedResult, type Awaited, type PrintResult, type Progress, type Wait } from './print-request';
import { phrase, type Sentence } from '../words/sentence';

/** Between tries to read what can't be read now, ms. */
const RELOAD = { first: 1_000, longest: 30_000 };
/** Between tries to hand over an end while nobody can tell whose it is, ms. */
const AGAIN = { first: 500, longest: 5_000 };

/** The node that waits. */
export interface Waiter {
  nodeId: string;
  /** Ends with the node. */
  signal: AbortSignal;
  /** Of waits that were taken up. */
  onProgress: (progress: Progress) => void;
  /** A poll failed: the last progress of an awaited print is old. */
  onStale?: ((clusterJobId: string) => void) | undefined;
  /** The end of a wait that was taken up, with what was kept with it; `error` where it was no good one. */
  onEnd: (result: PrintResult, index: number, note: unknown) => void;
  /** Another runtime has taken a wait over, and its end comes out there. */
  onLost: (result: PrintResult) => void;
}

/**
 * The waits of one node for the ends of prints. They are kept when they begin, so that they survive the node and the
 * runtime, and those that are found at the start are taken up (reference 3.4, ADR 10).
 */
export class LateResults {
  readonly #deps: LateEndsDeps;
  readonly #waiter: Waiter;
  /** Waits that this node has in hand. */
  readonly #held = new Set<string>();
  #loading = false;
  #more = false;

  constructor(deps: LateEndsDeps, waiter: Waiter) {
    this.#deps = deps;
    this.#waiter = waiter;
  }

  /**
   * Takes up what was kept, now, after each change of the sign-in, as another one can mean another workspace, and when
   * another runtime may have left something behind.
   */
  takeUp(): void {
    const { signal, nodeId } = this.#waiter;
    if (signal.aborted) return;
    const load = () => void this.#load();
    signal.addEventListener('abort', this.#deps.signIn.onChange(load), { once: true });
    signal.addEventListener('abort', this.#deps.runtimes.onChange(load), { once: true });
    this.#deps.kept.onOrphan(nodeId, load);
    load();
  }

  /** A wait begins. It goes on in memory where it can't be kept. */
  begin(scope: Scope, awaited: Awaited, note: unknown): Wait {
    const { kept, clock, warn } = this.#deps;
    const owner: WaitOwner = [...scope, this.#waiter.nodeId];
    const result = { ...awaited.result, raw: null, job: null };
    const wait: PendingWait = { ...awaited, result, id: randomUUID(), since: clock.now() };
    this.#held.add(wait.id);
    void kept.keep(owner, wait, note, (error) => warn(notKept(error)));
    const { nodeId } = this.#waiter;
    return { over: (deliver) => this.#handOver(owner, wait, deliver), left: () => kept.orphaned(nodeId) };
  }

  /** The node is no more. */
  async forget(): Promise<void> {
    await this.#deps.kept.forget([...(await this.#deps.scope()), this.#waiter.nodeId]);
  }

  /** Never rejects. */
  async #load(): Promise<void> {
    this.#more = true;
    if (this.#loading) return;
    this.#loading = true;
    const { signal, nodeId } = this.#waiter;
    const deadline = new Deadline(this.#deps.clock, { parent: signal });
    for (let turn = 0; this.#more && !signal.aborted && this.#deps.signIn.usable; turn++) {
      try {
        this.#more = false;
        const scope = await this.#deps.scope();
        for (const wait of await this.#deps.kept.takeUp([...scope, nodeId])) void this.#take(scope, wait, deadline);
      } catch {
        this.#more = true;
        await deadline.sleep(waitBefore(turn, RELOAD)).catch(() => undefined);
      }
    }
    this.#loading = false;
  }

  /** Never rejects. */
  async #take(scope: Scope, wait: PendingWait, deadline: Deadline): Promise<void> {
    if (this.#held.has(wait.id)) return;
    this.#held.add(wait.id);
    const { warn } = this.#deps;
    const { signal, nodeId, onEnd } = this.#waiter;
    const owner: WaitOwner = [...scope, nodeId];
    try {
      const result = await this.#end(scope, wait);
      const note = result && (await this.#note(owner, wait, deadline));
      if (!result || signal.aborted) return;
      await this.#handOver(owner, wait, () => onEnd(result, wait.index, note));
    } catch (thrown) {
      if (!signal.aborted) warn(phrase`The end of a print could not be reported: ${asPrintingError(thrown).sentence}`);
    }
  }

  /** Null: the node closed before. */
  async #end(scope: Scope, { result, printKey }: PendingWait): Promise<PrintResult | null> {
    const { watcher, store, warn } = this.#deps;
    const clusterId = result.clusterId ?? '';
    try {
      return await awaitEnd(watcher, this.#waiter, { result }, async (ended) => {
        if (printKey) await noteEnd(new Ledger(store, scope), { clusterId, printKey }, ended, warn);
      });
    } catch (thrown) {
      return failedResult(result, asPrintingError(thrown));
    }
  }

  async #note(owner: WaitOwner, wait: PendingWait, deadline: Deadline): Promise<unknown> {
    for (let turn = 0; ; turn++) {
      try {
        return await this.#deps.kept.note(owner, wait);
      } catch {
        await deadline.sleep(waitBefore(turn, RELOAD));
      }
    }
  }

  /** False where the end comes out elsewhere: at another runtime, or at who comes after this node. */
  async #handOver(owner: WaitOwner, wait: PendingWait, deliver: () => void): Promise<boolean> {
    const { kept, runtimes } = this.#deps;
    // Whoever is alone needs no store for it.
    if (runtimes.id === null) {
      deliver();
      this.#noteSaved(kept.drop(owner, wait));
      return true;
    }
    const handedOver = await this.#confirmed(owner, wait, deliver);
    if (handedOver) this.#noteSaved(handedOver.saved);
    return handedOver !== null;
  }

  /** Null: the wait is not this node's any more. */
  async #confirmed(owner: WaitOwner, wait: PendingWait, deliver: () => void): Promise<HandedOver | null> {
    const { kept, clock } = this.#deps;
    const { signal, nodeId, onLost } = this.#waiter;
    const now = { delivered: false };
    const once = () => {
      signal.throwIfAborted();
      now.delivered = true;
      deliver();
    };
    for (let turn = 0; !signal.aborted; turn++) {
      try {
        const handedOver = await kept.handOver(owner, wait, once);
        if (handedOver) return handedOver;
        // It may come back.
        this.#held.delete(wait.id);
        onLost(wait.result);
        return null;
      } catch (thrown) {
        if (now.delivered) throw thrown;
        await sleep(clock, waitBefore(turn, AGAIN), signal).catch(() => undefined);
      }
    }
    kept.orphaned(nodeId);
    return null;
  }

  #noteSaved(saved: Promise<void>): void {
    saved.catch((error: unknown) =>
      this.#deps.warn(
        phrase`That the end of a print was reported could not be saved yet: ${asPrintingError(error).sentence}`,
      ),
    );
  }
}

interface LateEndsDeps {
  kept: PendingWaits;
  watcher: Watcher;
  runtimes: Peers;
  store: StateStore;
  scope: CurrentScope;
  signIn: SignInWatch;
  clock: Clock;
  /** For the log. */
  warn: (sentence: Sentence) => void;
}

const notKept = (error: unknown): Sentence =>
  phrase`The wait for the end of a print could not be saved; a restart would lose its result: ${asPrintingError(error).sentence}`;
