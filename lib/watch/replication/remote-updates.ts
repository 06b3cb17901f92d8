import type { Key, StateStore } from '../../state/store';
import { record, text } from '../../service/json-readers';
import { guard } from '../../time/guard';
import { readCheckpoint } from '../../events/checkpoint';
import { storedStatus } from '../../service/stored-shapes';
import { CHECKPOINT, OBSERVATION } from '../checkpoints/checkpoint-store';
import type { ListPoller } from '../polling/list-poller';
import type { Poller } from '../polling/poller';
import type { ScopeMemory } from '../checkpoints/scope-memory';

interface RemoteUpdatesOptions {
  store: StateStore;
  /** State of the present scope; null while the scope is unknown. */
  scope: () => ScopeMemory | null;
  list: () => ListPoller;
  pollers: ReadonlyMap<string, Poller>;
  /** Called after another runtime has reported a new cluster id. */
  moved: (clusterId: string, to: string) => Promise<void>;
  fault: (thrown: unknown) => void;
}

/** Updates published by other runtimes, which replace polls for local subscribers that wait. */
export class RemoteUpdates {
  readonly #parts: RemoteUpdatesOptions;
  readonly #end: () => void;

  constructor(parts: RemoteUpdatesOptions) {
    this.#parts = parts;
    // Where the callback throws, the store has no way to report it to this account.
    const receive = guard((key: Key | null) => this.#changed(key), parts.fault);
    this.#end = parts.store.onChange?.(receive) ?? (() => undefined);
  }

  end(): void {
    this.#end();
  }

  /** Reloads the list after missed updates. Updates of awaited clusters follow soon by themselves. */
  catchUp(): void {
    void this.#parts.list().loadPublished();
  }

  #changed(key: Key | null): void {
    if (key === null) return this.catchUp();
    const [kind, account, service, workspace, clusterId] = key;
    const here = this.#parts.scope()?.scope;
    if (!here || account !== here[0] || service !== here[1] || workspace !== here[2]) return;
    if (kind === CHECKPOINT && clusterId === undefined) void this.#parts.list().loadPublished();
    else if (kind === CHECKPOINT && clusterId !== undefined) this.#run(this.#moved(key, clusterId));
    else if (kind === OBSERVATION && clusterId !== undefined) this.#run(this.#observed(clusterId));
  }

  async #observed(clusterId: string): Promise<void> {
    const { scope, store, pollers } = this.#parts;
    const here = scope()?.scope;
    const isWanted = () => {
      const poller = pollers.get(clusterId);
      return poller?.isWaitedFor && !poller.isOurs ? poller : undefined;
    };
    if (!here || !isWanted()) return;
    const update = record(await store.get<unknown>([OBSERVATION, ...here, clusterId]));
    const figures = storedStatus(update?.figures);
    if (figures) await isWanted()?.receiveUpdate(readCheckpoint(update?.checkpoint), figures);
  }

  async #moved(key: Key, clusterId: string): Promise<void> {
    const movedTo = text(record(await this.#parts.store.get<unknown>(key))?.movedTo);
    if (movedTo !== null) await this.#parts.moved(clusterId, movedTo);
  }

  #run(work: Promise<void>): void {
    work.catch((thrown: unknown) => this.#parts.fault(thrown));
  }
}
