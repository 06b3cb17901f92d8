import type { ApiClient } from '../account/api-client';
import { type ClusterView, ClusterViews } from '../queue/records/statuses';
import type { SignInWatch } from '../sign-in/sign-in-state';
import type { Clock } from '../time/clock';
import { type Deadline, underDeadline } from '../time/deadline';
import { guard } from '../time/guard';
import { HeldClusters } from '../watch/views/held-clusters';
import type { Watcher } from '../watch/watcher';

/** Longest read of one printer, ms. */
const READ_WITHIN = 30_000;
/** Interval of the reads of the list of printers, ms. */
const LIST_EVERY = 120_000;

interface FarmOptions {
  service: ApiClient;
  clock: Clock;
  signIn: SignInWatch;
  watcher: Pick<Watcher, 'clusterList' | 'hold' | 'onObservation'>;
  /** Whether the board keeps the printers on the shared polls; with a queue, the queue does. */
  isHolding: boolean;
  /** Called after each status that was read, and after each change of the sign-in and of the list. */
  changed: () => void;
}

/** The printers of a board's account, by their last statuses. Begins at once. */
export class Farm {
  readonly #options: FarmOptions;
  readonly #views: ClusterViews;
  readonly #held: HeldClusters;
  readonly #ends: (() => void)[];
  #cancel: (() => void) | null = null;
  readonly #closing = new AbortController();

  constructor(options: FarmOptions) {
    this.#options = options;
    const { service, clock, signIn, watcher, changed } = options;
    const identityOf = (clusterId: string) => watcher.clusterList.last?.get(clusterId) ?? null;
    this.#views = new ClusterViews({ service, clock, identityOf });
    this.#held = new HeldClusters(watcher, clock);
    this.#ends = [
      watcher.onObservation((_, status, requestedAt) => {
        if (this.#views.see(status, requestedAt)) guard(changed)();
      }),
      signIn.onChange(() => {
        guard(changed)();
        this.#readListOn();
      }),
    ];
    this.#readListOn();
  }

  /** Ids of the clusters, in the order of the account's list; those of the statuses while that was never read. */
  get clusterIds(): string[] {
    const { last } = this.#options.watcher.clusterList;
    return last ? [...last.keys()] : this.#views.clusterIds;
  }

  /** The cluster's name and whether it is online by the account's list. */
  listed(clusterId: string): { name: string | null; online: boolean | null } | null {
    return this.#options.watcher.clusterList.last?.get(clusterId) ?? null;
  }

  view(clusterId: string): ClusterView | undefined {
    return this.#views.get(clusterId);
  }

  /** Reads one cluster after a press. A failure is left to the next poll. Never rejects. */
  async reread(clusterId: string): Promise<void> {
    const { clock, changed } = this.#options;
    const { signal: parent } = this.#closing;
    const read = (deadline: Deadline) => this.#views.read(clusterId, deadline);
    await underDeadline(clock, { ms: READ_WITHIN, parent }, read).catch(() => undefined);
    if (!parent.aborted) guard(changed)();
  }

  close(): void {
    this.#closing.abort(new Error('closed'));
    this.#cancel?.();
    for (const end of this.#ends) end();
    this.#held.close();
  }

  /** Reads the list now and again and again: a printer that is connected later belongs to the board, too. */
  #readListOn(): void {
    if (this.#closing.signal.aborted) return;
    this.#cancel?.();
    this.#cancel = this.#options.clock.after(LIST_EVERY, () => this.#readListOn());
    this.#readList().catch(() => undefined);
  }

  /** After a failure, the next read finds what this one did not. */
  async #readList(): Promise<void> {
    const { watcher, signIn, isHolding, changed } = this.#options;
    if (signIn.usable) await watcher.clusterList.read(LIST_EVERY / 2).catch(() => undefined);
    if (this.#closing.signal.aborted) return;
    if (isHolding) await this.#held.hold(this.clusterIds);
    guard(changed)();
  }
}
