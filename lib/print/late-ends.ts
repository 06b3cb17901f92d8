import { randomUUID } from 'node:crypto';
import { asPrintingError } from '../service/errors';
import type { SignInWatch } from '../sign-in/sign-in-state';
import type { CurrentScope, Scope } from '../state/scope';
import type { StateStore } from '../state/store';
import { waitBefore } from '../time/backoff';
import type { Clock } from '../time/clock';
import { Deadline } from '../time/deadline';
import type { Watcher } from '../watch/watcher';
import { awaitEnd, noteEnd } from './awaited-end';
import type { KeptWait, KeptWaits, WaitOwner } from './kept-waits';
import { Ledger } from './ledger';
import { failedResult, type Awaited, type PrintResult, type Progress, type Wait } from './print-request';
import { say, type Sentence } from '../words/say';

/** Between tries to read what can't be read now, ms. */
const RELOAD = { first: 1_000, longest: 300_000 };

/** The node that waits. */
export interface Waiter {
  nodeId: string;
  /** Ends with the node. */
  signal: AbortSignal;
  /** Of waits that were taken up. */
  onProgress: (progress: Progress) => void;
  /** The end of a wait that was taken up, with what was kept with it; `error` where it was no good one. */
  onEnd: (result: PrintResult, index: number, note: unknown) => void;
}

/**
 * The waits of one node for the ends of prints. They are kept when they begin, so that they survive the node and the
 * runtime, and those that are found at the start are taken up (reference 3.4, ADR 10).
 */
export class LateEnds {
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

  /** Takes up what was kept, now and after each change of the sign-in: another one can mean another workspace. */
  takeUp(): void {
    const { signal, nodeId } = this.#waiter;
    if (signal.aborted) return;
    const load = () => void this.#load();
    signal.addEventListener('abort', this.#deps.signIn.onChange(load), { once: true });
    this.#deps.kept.onOrphan(nodeId, load);
    load();
  }

  /** A wait begins. It goes on in memory where it can't be kept. */
  begin(scope: Scope, awaited: Awaited, note: unknown): Wait {
    const { kept, clock, warn } = this.#deps;
    const owner: WaitOwner = [...scope, this.#waiter.nodeId];
    const result = { ...awaited.result, raw: null, job: null };
    const wait: KeptWait = { ...awaited, result, id: randomUUID(), since: clock.now() };
    this.#held.add(wait.id);
    const saved = kept.keep(owner, wait, note).catch((error: unknown) => warn(notKept(error)));
    return {
      over: () => this.#drop(owner, wait),
      left: () => void saved.then(() => kept.orphaned(this.#waiter.nodeId)).catch(() => undefined),
    };
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
        for (const wait of await this.#deps.kept.waits([...scope, nodeId])) void this.#take(scope, wait, deadline);
      } catch {
        this.#more = true;
        await deadline.sleep(waitBefore(turn, RELOAD)).catch(() => undefined);
      }
    }
    this.#loading = false;
  }

  /** Never rejects. */
  async #take(scope: Scope, wait: KeptWait, deadline: Deadline): Promise<void> {
    if (this.#held.has(wait.id)) return;
    this.#held.add(wait.id);
    const { warn } = this.#deps;
    const { signal, nodeId, onEnd } = this.#waiter;
    const owner: WaitOwner = [...scope, nodeId];
    try {
      const result = await this.#end(scope, wait);
      const note = result && (await this.#note(owner, wait, deadline));
      if (!result || signal.aborted) return;
      onEnd(result, wait.index, note);
      this.#drop(owner, wait);
    } catch (thrown) {
      if (!signal.aborted) warn(say`The end of a print could not be reported: ${asPrintingError(thrown).sentence}`);
    }
  }

  /** Null: the node closed before. */
  async #end(scope: Scope, { result, printKey }: KeptWait): Promise<PrintResult | null> {
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

  async #note(owner: WaitOwner, wait: KeptWait, deadline: Deadline): Promise<unknown> {
    for (let turn = 0; ; turn++) {
      try {
        return await this.#deps.kept.note(owner, wait);
      } catch {
        await deadline.sleep(waitBefore(turn, RELOAD));
      }
    }
  }

  #drop(owner: WaitOwner, wait: KeptWait): void {
    this.#deps.kept
      .drop(owner, wait)
      .catch((error: unknown) =>
        this.#deps.warn(
          say`That the end of a print was reported could not be saved yet: ${asPrintingError(error).sentence}`,
        ),
      );
  }
}

interface LateEndsDeps {
  kept: KeptWaits;
  watcher: Watcher;
  store: StateStore;
  scope: CurrentScope;
  signIn: SignInWatch;
  clock: Clock;
  /** For the log. */
  warn: (sentence: Sentence) => void;
}

const notKept = (error: unknown): Sentence =>
  say`The wait for the end of a print could not be saved; a restart would lose its result: ${asPrintingError(error).sentence}`;
