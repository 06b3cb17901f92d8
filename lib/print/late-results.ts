import { randomUUID } from 'node:crypto';
import { asPrintingError } from '../service/errors';
import type { SignInWatch } from '../sign-in/sign-in-state';
import type { CurrentScope, Scope } from '../state/store';
import type { Clock } from '../time/clock';
import { Deadline } from '../time/deadline';
import { Rerun } from '../time/concurrency';
import { retryUntil } from '../time/retry';
import type { Peers } from '../watch/replication/peers';
import type { HandedOver, PendingWait, PendingWaits, WaitOwner } from './pending-waits';
import { phrase, type Sentence } from '../words/sentence';

/** Backoff between tries to read the stored waits, ms. */
const RELOAD = { first: 1_000, longest: 30_000 };
/** Backoff between tries to hand over an end while the wait's owner can't be read, ms. */
const HAND_OVER_AGAIN = { first: 500, longest: 5_000 };

/** A node that waits for ends: of prints, or of the items of a queue. */
export interface Waiter<Awaited, Result> {
  nodeId: string;
  /** Aborts when the node closes. */
  signal: AbortSignal;
  /** Resolves with the end of a resumed wait; null if the wait was cancelled, and the node's successor resumes it. */
  awaitEnd: (scope: Scope, awaited: Awaited) => Promise<Result | null>;
  /** Reports the end of a resumed wait, with the note stored with it. */
  onEnd: (result: Result, awaited: Awaited, note: unknown) => void;
  /** Another runtime has adopted a wait and reports its end. */
  onLost?: (awaited: Awaited) => void;
}

/** A stored wait of a message. */
export interface Wait {
  /** Hands the end over by `deliver`; false if another runtime, or the node's successor, reports it. */
  handOver: (deliver: () => void) => Promise<boolean>;
  /** Leaves the wait to the node's successor, as the node has closed. */
  abandon: () => void;
}

/**
 * One node's waits for ends. A wait is stored when it begins, so that it survives the node and the runtime; a starting
 * node resumes its stored waits (reference 3.4, ADR 10).
 */
export class LateResults<Awaited extends object, Result> {
  readonly #deps: LateResultsDeps;
  readonly #waiter: Waiter<Awaited, Result>;
  /** Ids of the waits that this node is working on. */
  readonly #held = new Set<string>();
  /** Ends when the node closes. */
  readonly #deadline: Deadline;
  readonly #loads = new Rerun(() => this.#load());

  constructor(deps: LateResultsDeps, waiter: Waiter<Awaited, Result>) {
    this.#deps = deps;
    this.#waiter = waiter;
    this.#deadline = new Deadline(deps.clock, { parent: waiter.signal });
  }

  /** Begins a wait. It continues in memory if it can't be stored. */
  begin(scope: Scope, awaited: Awaited, note: unknown): Wait {
    const { pendingWaits, clock, warn } = this.#deps;
    const { nodeId } = this.#waiter;
    const owner: WaitOwner = [...scope, nodeId];
    const wait: PendingWait<Awaited> = { ...awaited, id: randomUUID(), since: clock.now() };
    this.#held.add(wait.id);
    void pendingWaits.keep(owner, wait, note, (error) => warn(notSaved(error)));
    return {
      handOver: (deliver) => this.#handOver(owner, wait, deliver),
      abandon: () => pendingWaits.orphaned(nodeId),
    };
  }

  /**
   * Resumes the stored waits: now, after each change of the sign-in, which may change the workspace, and when another
   * runtime may have left waits behind.
   */
  resume(): void {
    const { signal, nodeId } = this.#waiter;
    if (signal.aborted) return;
    const load = () => void this.#loads.request();
    signal.addEventListener('abort', this.#deps.signIn.onChange(load), { once: true });
    signal.addEventListener('abort', this.#deps.runtimes.onChange(load), { once: true });
    this.#deps.pendingWaits.onOrphan(nodeId, load);
    load();
  }

  /** Deletes the stored waits of a removed node. */
  async forget(): Promise<void> {
    await this.#deps.pendingWaits.forget([...(await this.#deps.scope()), this.#waiter.nodeId]);
  }

  /** Never rejects. */
  #load(): Promise<void> {
    return retryUntil(this.#deadline, RELOAD, () => this.#adopt()).catch(() => undefined);
  }

  async #adopt(): Promise<void> {
    const { scope: currentScope, pendingWaits, signIn } = this.#deps;
    if (this.#waiter.signal.aborted || !signIn.usable) return;
    const scope = await currentScope();
    const { waits, isComplete } = await pendingWaits.adopt<PendingWait<Awaited>>([...scope, this.#waiter.nodeId]);
    for (const wait of waits) void this.#resumeWait(scope, wait);
    // Where no other runtime can read the rest either, this one may be able to later.
    if (!isComplete) throw new Error('a wait can’t be read');
  }

  /** Never rejects. */
  async #resumeWait(scope: Scope, wait: PendingWait<Awaited>): Promise<void> {
    if (this.#held.has(wait.id)) return;
    this.#held.add(wait.id);
    const { pendingWaits, warn } = this.#deps;
    const { signal, nodeId, awaitEnd, onEnd } = this.#waiter;
    const owner: WaitOwner = [...scope, nodeId];
    try {
      const result = await awaitEnd(scope, wait);
      const readNote = () => pendingWaits.readNote(owner, wait);
      const note = result && (await retryUntil(this.#deadline, RELOAD, readNote));
      if (!result || signal.aborted) return;
      await this.#handOver(owner, wait, () => onEnd(result, wait, note));
    } catch (thrown) {
      if (!signal.aborted) warn(phrase`The end of a print could not be reported: ${asPrintingError(thrown).sentence}`);
    }
  }

  /** Resolves to false if another runtime, or this node's successor, reports the end. */
  async #handOver(owner: WaitOwner, wait: PendingWait<Awaited>, deliver: () => void): Promise<boolean> {
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
  async #confirmed(owner: WaitOwner, wait: PendingWait<Awaited>, deliver: () => void): Promise<HandedOver | null> {
    const { pendingWaits } = this.#deps;
    const { signal, nodeId, onLost } = this.#waiter;
    const now = { delivered: false };
    const once = () => {
      signal.throwIfAborted();
      now.delivered = true;
      deliver();
    };
    const confirm = () => {
      signal.throwIfAborted();
      return pendingWaits.handOver(owner, wait, once);
    };
    const waitAfter = () => (now.delivered ? null : undefined);
    try {
      const handedOver = await retryUntil(this.#deadline, HAND_OVER_AGAIN, confirm, { waitAfter });
      if (handedOver) return handedOver;
    } catch (thrown) {
      if (now.delivered) throw thrown;
      pendingWaits.orphaned(nodeId);
      return null;
    }
    // The wait may return to this node.
    this.#held.delete(wait.id);
    onLost?.(wait);
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
  runtimes: Peers;
  scope: CurrentScope;
  signIn: SignInWatch;
  clock: Clock;
  /** For the log. */
  warn: (sentence: Sentence) => void;
}

const notSaved = (error: unknown): Sentence =>
  phrase`The wait for the end of a print could not be saved; a restart would lose its result: ${asPrintingError(error).sentence}`;
