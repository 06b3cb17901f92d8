import { setMaxListeners } from 'node:events';
import { latePrints, type LatePrints, type PrintWaiter } from '../../lib/print/late-prints';
import { PendingWaits, type PendingWait } from '../../lib/print/pending-waits';
import { printResult, type Awaited, type Wait } from '../../lib/print/print-request';
import { PrintingError } from '../../lib/service/errors';
import type { Scope, StateStore } from '../../lib/state/store';
import type { Clock } from '../../lib/time/clock';
import type { Peers } from '../../lib/watch/replication/peers';
import type { JobEnd, JobEndOptions } from '../../lib/watch/views/watch';
import type { Watcher } from '../../lib/watch/watcher';
import { phrase } from '../../lib/words/sentence';

const END: JobEnd = { outcome: 'finished', job: null };

interface Surroundings {
  store: StateStore;
  clock: Clock;
  scope: Scope;
  runtimes: Peers;
  hasEnded: (print: string) => boolean;
}

type Reports = Pick<PrintWaiter, 'onEnd' | 'onLost'>;

/** One node of one runtime, which waits for the end of prints. */
export class WaitingNode {
  closing = new AbortController();
  readonly kept: PendingWaits<PendingWait<Awaited>>;
  ends: LatePrints;
  readonly #surroundings: Surroundings;
  readonly #reports: Reports;
  readonly #follows = new Set<() => void>();

  constructor(surroundings: Surroundings, reports: Reports) {
    this.#surroundings = surroundings;
    this.#reports = reports;
    const { store, clock, runtimes } = surroundings;
    this.kept = new PendingWaits(store, clock, runtimes);
    this.ends = this.#deploy();
  }

  #deploy(): LatePrints {
    const { store, clock, scope, runtimes } = this.#surroundings;
    // Every wait of the node adds a listener, as in a flow.
    setMaxListeners(0, this.closing.signal);
    return latePrints(
      {
        pendingWaits: this.kept,
        watcher: { follow: this.follow } as unknown as Watcher,
        runtimes,
        store,
        scope: () => Promise.resolve(scope),
        signIn: { state: 'signed-in', usable: true, onChange: () => () => undefined },
        clock,
        warn: () => undefined,
      },
      { nodeId: 'node', signal: this.closing.signal, onProgress: () => undefined, ...this.#reports },
    );
  }

  readonly follow = (_: string, print: string, { signal }: JobEndOptions): Promise<JobEnd> =>
    new Promise((resolve, reject) => {
      signal?.addEventListener('abort', () => reject(signal.reason as Error));
      const look = () => {
        if (this.#surroundings.hasEnded(print)) resolve(END);
      };
      this.#follows.add(look);
      look();
    });

  /** Shows the prints that have ended. */
  poll(): void {
    this.#follows.forEach((look) => look());
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
