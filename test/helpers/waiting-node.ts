import { setMaxListeners } from 'node:events';
import { LateResults, type Wait, type Waiter } from '../../lib/print/late-results';
import { PendingWaits } from '../../lib/print/pending-waits';
import { printResult, type Awaited, type PrintResult } from '../../lib/print/print-request';
import { PrintingError } from '../../lib/service/errors';
import type { Scope, StateStore } from '../../lib/state/store';
import type { Clock } from '../../lib/time/clock';
import type { Peers } from '../../lib/watch/replication/peers';
import { phrase } from '../../lib/words/sentence';

interface Surroundings {
  store: StateStore;
  clock: Clock;
  scope: Scope;
  runtimes: Peers;
  hasEnded: (print: string) => boolean;
}

type Reports = Pick<Waiter<Awaited, PrintResult>, 'onEnd' | 'onLost'>;

/** One node of one runtime, which waits for the end of prints. */
export class WaitingNode {
  closing = new AbortController();
  readonly kept: PendingWaits;
  ends: LateResults<Awaited, PrintResult>;
  readonly #surroundings: Surroundings;
  readonly #reports: Reports;
  readonly #checks = new Set<() => void>();

  constructor(surroundings: Surroundings, reports: Reports) {
    this.#surroundings = surroundings;
    this.#reports = reports;
    const { store, clock, runtimes } = surroundings;
    this.kept = new PendingWaits(store, clock, runtimes);
    this.ends = this.#deploy();
  }

  #deploy(): LateResults<Awaited, PrintResult> {
    const { clock, scope, runtimes } = this.#surroundings;
    // Every wait of the node adds a listener, as in a flow.
    setMaxListeners(0, this.closing.signal);
    const { signal } = this.closing;
    return new LateResults(
      {
        pendingWaits: this.kept,
        runtimes,
        scope: () => Promise.resolve(scope),
        signIn: { state: 'signed-in', usable: true, onChange: () => () => undefined },
        clock,
        warn: () => undefined,
      },
      {
        nodeId: 'node',
        signal,
        awaitEnd: async (_, { result }) => ((await this.hasEnded(result.clusterJobId ?? '')) ? result : null),
        ...this.#reports,
      },
    );
  }

  /** Resolves when the print has ended; to false if the node closes first. */
  hasEnded(print: string): Promise<boolean> {
    return new Promise((resolve) => {
      this.closing.signal.addEventListener('abort', () => resolve(false));
      const check = () => {
        if (this.#surroundings.hasEnded(print)) resolve(true);
      };
      this.#checks.add(check);
      check();
    });
  }

  /** Shows the prints that have ended. */
  poll(): void {
    this.#checks.forEach((check) => check());
  }

  /** Begins a wait for the end of a print. */
  begin(print: string, note: unknown = null): Wait {
    const result = printResult({ clusterId: 'c', clusterJobId: print, printed: true });
    return this.ends.begin(this.#surroundings.scope, { printKey: '', index: 0, result }, note);
  }

  /** Deploys another node with the same id. */
  redeploy(): void {
    this.closing.abort(new PrintingError('TIMEOUT', phrase`closed`));
    this.closing = new AbortController();
    this.ends = this.#deploy();
    this.ends.resume();
  }
}
