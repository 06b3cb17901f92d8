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

/** Backoff between tries to read the stored waits, ms. */
const RELOAD = { first: 1_000, longest: 30_000 };
/** Backoff between tries to hand over an end while the wait's owner can't be read, ms. */
const HAND_OVER_AGAIN = { first: 500, longest: 5_000 };

/** The node that waits. */
export interface Waiter {
  nodeId: string;
  /** Aborts when the node closes. */
  signal: AbortSignal;
  /** Reports the progress of resumed waits. */
  onProgress: (progress: Progress) => void;
  /** A poll failed: the last progress of an awaited print is stale. */
  onStale?: ((clusterJobId: string) => void) | undefined;
  /**
   * Reports the end of a resumed wait, with the note stored with it; `result.error` is set if the print did not finish
   * well.
   */
  onEnd: (result: PrintResult, index: number, note: unknown) => void;
  /** Another runtime has adopted a wait and reports its end. */
  onLost: (result: PrintResult) => void;
}

/**
 * One node's waits for the ends of prints. A wait is stored when it begins, so that it survives the node and the
 * runtime; a starting node resumes its stored waits (reference 3.4, ADR 10).
 */
export class LateResults {
  readonly #deps: LateResultsDeps;
  readonly #waiter: Waiter;
  /** Ids of the waits that this node is working on. */
  readonly #held = new Set<string>();
  #loading = false;
  #more = false;

  constructor(deps: LateResultsDeps, waiter: Waiter) {
    this.#deps = deps;
    this.#waiter = waiter;
  }

  /**
   * Resumes the stored waits: now, after each change of the sign-in, which may change the workspace, and when another
   * runtime may have left waits behind.
   */
  resume(): void {
    const { signal, nodeId } = this.#waiter;
    if (signal.aborted) return;
    const load = () => void this.#load();
    signal.addEventListener('abort', this.#deps.signIn.onChange(load), { once: true });
    signal.addEventListener('abort', this.#deps.runtimes.onChange(load), { once: true });
    this.#deps.pendingWaits.onOrphan(nodeId, load);
    load();
  }

  /** Begins a wait. It continues in memory if it can't be stored. */
  begin(scope: Scope, awaited: Awaited, note: unknown): Wait {
    const { pendingWaits, clock, warn } = this.#deps;
    const owner: WaitOwner = [...scope, this.#waiter.nodeId];
    const result = { ...awaited.result, raw: null, job: null };
    const wait: PendingWait = { ...awaited, result, id: randomUUID(), since: clock.now() };
    this.#held.add(wait.id);
    void pendingWaits.keep(owner, wait, note, (error) => warn(notSaved(error)));
    const { nodeId } = this.#waiter;
    return {
      handOver: (deliver) => this.#handOver(owner, wait, deliver),
      abandon: () => pendingWaits.orphaned(nodeId),
    };
  }

  /** Deletes the stored waits of a removed node. */
  async forget(): Promise<void> {
    await this.#deps.pendingWaits.forget([...(await this.#deps.scope()), this.#waiter.nodeId]);
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
        for (const wait of await this.#deps.pendingWaits.adopt([...scope, nodeId]))
          void this.#resumeWait(scope, wait, deadline);
      } catch {
        this.#more = true;
        await deadline.sleep(waitBefore(turn, RELOAD)).catch(() => undefined);
      }
    }
    this.#loading = false;
  }

  /** Never rejects. */
  async #resumeWait(scope: Scope, wait: PendingWait, deadline: Deadline): Promise<void> {
    if (this.#held.has(wait.id)) return;
    this.#held.add(wait.id);
    const { warn } = this.#deps;
    const { signal, nodeId, onEnd } = this.#waiter;
    const owner: WaitOwner = [...scope, nodeId];
    try {
      const result = await this.#end(scope, wait);
      const note = result && (await this.#readNote(owner, wait, deadline));
      if (!result || signal.aborted) return;
      await this.#handOver(owner, wait, () => onEnd(result, wait.index, note));
    } catch (thrown) {
      if (!signal.aborted) warn(phrase`The end of a print could not be reported: ${asPrintingError(thrown).sentence}`);
    }
  }

  /** Null: the node closed first. */
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

  async #readNote(owner: WaitOwner, wait: PendingWait, deadline: Deadline): Promise<unknown> {
    for (let turn = 0; ; turn++) {
      try {
        return await this.#deps.pendingWaits.readNote(owner, wait);
      } catch {
        await deadline.sleep(waitBefore(turn, RELOAD));
      }
    }
  }

  /** Resolves to false if another runtime, or this node's successor, reports the end. */
  async #handOver(owner: WaitOwner, wait: PendingWait, deliver: () => void): Promise<boolean> {
    const { pendingWaits, runtimes } = this.#deps;
    // A runtime without peers needs no lock for it.
    if (runtimes.id === null) {
      deliver();
      this.#warnUnsaved(pendingWaits.drop(owner, wait));
      return true;
    }
    const handedOver = await this.#confirmed(owner, wait, deliver);
    if (handedOver) this.#warnUnsaved(handedOver.saved);
    return handedOver !== null;
  }

  /** Null: this node no longer owns the wait. */
  async #confirmed(owner: WaitOwner, wait: PendingWait, deliver: () => void): Promise<HandedOver | null> {
    const { pendingWaits, clock } = this.#deps;
    const { signal, nodeId, onLost } = this.#waiter;
    const now = { delivered: false };
    const once = () => {
      signal.throwIfAborted();
      now.delivered = true;
      deliver();
    };
    for (let turn = 0; !signal.aborted; turn++) {
      try {
        const handedOver = await pendingWaits.handOver(owner, wait, once);
        if (handedOver) return handedOver;
        // The wait may return to this node.
        this.#held.delete(wait.id);
        onLost(wait.result);
        return null;
      } catch (thrown) {
        if (now.delivered) throw thrown;
        await sleep(clock, waitBefore(turn, HAND_OVER_AGAIN), signal).catch(() => undefined);
      }
    }
    pendingWaits.orphaned(nodeId);
    return null;
  }

  #warnUnsaved(saved: Promise<void>): void {
    saved.catch((error: unknown) =>
      this.#deps.warn(
        phrase`The record that the end of a print was reported could not be saved yet: ${asPrintingError(error).sentence}`,
      ),
    );
  }
}

interface LateResultsDeps {
  pendingWaits: PendingWaits;
  watcher: Watcher;
  runtimes: Peers;
  store: StateStore;
  scope: CurrentScope;
  signIn: SignInWatch;
  clock: Clock;
  /** For the log. */
  warn: (sentence: Sentence) => void;
}

const notSaved = (error: unknown): Sentence =>
  phrase`The wait for the end of a print could not be saved; a restart would lose its result: ${asPrintingError(error).sentence}`;
