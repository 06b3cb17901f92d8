import type { Cluster } from '../service/cluster';
import { asPrintingError, type PrintingError } from '../service/errors';
import { isoTime } from '../time/clock';
import { KEEP_POSITION, type AccountContext, type RiderChain } from './account-context';
import { atMost } from './at-most';
import { changed } from './changed';
import { nextEnd } from './cluster-poll';
import type { PrintEvent } from './events';
import { advanceList, readListPosition, type ListPosition } from './list-events';
import { PollChain, type Turn } from './poll-chain';
import type { PollOutcome } from './watch-types';

/** Status calls under way at a time. */
const AT_ONCE = 4;
const USUAL_INTERVAL = 60_000;

/** The polls of all clusters of an account: the list, then every cluster's status through its own polls. */
export class RoundPoll {
  readonly chain: RiderChain;

  #position: ListPosition | null = null;
  #loading: Promise<boolean> | null = null;
  #late = false;
  #written: ListPosition | null = null;
  #writing: Promise<void> = Promise.resolve();
  #inTrouble = false;

  constructor(private readonly account: AccountContext) {
    this.chain = new PollChain({
      clock: account.clock,
      random: account.random,
      usable: account.usable,
      run: (asked) => this.#run(asked),
    });
  }

  /** Nobody watches all clusters any more. */
  rest(): void {
    this.#late = this.#position !== null;
  }

  /** Resolves when nothing is left to write. */
  settled(): Promise<void> {
    return this.#writing;
  }

  /** A cluster that was watched by itself was found under a new id. */
  rebound(previous: string, { clusterId, hostGuid, name }: Cluster, event: PrintEvent): void {
    if (!this.#position?.known.some((known) => known.clusterId === previous)) return;
    const others = this.#position.known.filter(
      (known) => known.clusterId !== previous && known.clusterId !== clusterId,
    );
    this.#position = { ...this.#position, known: [...others, { clusterId, hostGuid, name }] };
    this.#tell([event]);
    this.#write(this.#position);
  }

  async #run(asked: boolean): Promise<Turn<PollOutcome>> {
    const { account } = this;
    const interval = this.chain.interval ?? USUAL_INTERVAL;
    const loaded = await this.#load();
    try {
      account.signal.throwIfAborted();
      const list = await account.list.read(asked ? 0 : interval / 2);
      const clusters = list.map(({ cluster }) => cluster);
      account.signal.throwIfAborted();
      this.#noteOutage(null);
      if (loaded) await this.#take(clusters);
      const results = await atMost(AT_ONCE, clusters, ({ clusterId }) =>
        account.pollOf(clusterId).fresh({ interval, asked }),
      );
      const ends = results.flatMap(({ status, error }) =>
        status && !error ? (nextEnd(status, account.clock.now()) ?? []) : [],
      );
      return {
        outcome: { results, listError: null },
        error: null,
        endsIn: ends.length > 0 ? Math.min(...ends) : null,
      };
    } catch (thrown) {
      const listError = asPrintingError(thrown);
      if (!account.signal.aborted) this.#noteOutage(listError);
      return { outcome: { results: await this.#remembered(listError), listError }, error: listError, endsIn: null };
    }
  }

  /** What was known of every cluster, where the list can't be read. */
  #remembered(error: PrintingError) {
    const { list } = this.account;
    const last = list.last.length > 0 ? list.last.map(({ cluster }) => cluster) : (this.#position?.known ?? []);
    return atMost(AT_ONCE, last, ({ clusterId }) => this.account.pollOf(clusterId).remembered(error));
  }

  async #take(clusters: readonly Cluster[]): Promise<void> {
    const { clock, random } = this.account;
    const late = this.#late && this.#position !== null;
    const step = advanceList(this.#position, clusters, { at: isoTime(clock.now()), late, random });
    this.#position = step.position;
    this.#late = false;
    this.#tell(step.events);
    for (const { previous, cluster } of step.rebounds) await this.account.pollOf(previous).moveTo(cluster);
    if (step.events.length > 0 || changed(this.#written, step.position)) this.#write(step.position);
  }

  #tell(events: readonly PrintEvent[]): void {
    if (events.length === 0) return;
    for (const rider of this.chain.subscribers) rider.tell(events.map((event) => ({ event })));
  }

  #noteOutage(error: PrintingError | null): void {
    if (this.#inTrouble === (error !== null)) return;
    this.#inTrouble = error !== null;
    this.account.outage(null, error);
  }

  #load(): Promise<boolean> {
    this.#loading ??= this.account.store.get<unknown>(this.#key()).then(
      (stored) => {
        this.#position = readListPosition(stored);
        this.#written = this.#position;
        this.#late = this.#position !== null;
        return true;
      },
      (thrown: unknown) => {
        this.account.fault(null, thrown);
        this.#loading = null;
        return false;
      },
    );
    return this.#loading;
  }

  #write(position: ListPosition): void {
    this.#writing = this.#writing
      .then(() => this.account.store.put(this.#key(), position, { keepFor: KEEP_POSITION }))
      .then(
        () => void (this.#written = position),
        (thrown: unknown) => this.account.fault(null, thrown),
      );
  }

  #key() {
    return ['position', this.account.accountId] as const;
  }
}
