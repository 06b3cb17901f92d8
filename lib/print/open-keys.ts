import { list, record, text } from '../service/json-readers';
import type { Lock } from '../state/membership';
import { type Key, type Scope, type StateStore, valuesBelow } from '../state/store';

/** Identifies a print key of a cluster. */
export interface KeyOf {
  clusterId: string;
  printKey: string;
}

/** Records of a listing that are read at once. */
const READ_AT_ONCE = 100;

/**
 * Index of the print keys whose outcome is open (ADR 4). Each cluster has its own record: with one for all of them, a message
 * to thousands of printers would write it thousands of times. Earlier versions had one; its keys are found and removed,
 * and none is added to it.
 */
export class OpenKeys {
  /** @param locks locks that must be held to write */
  constructor(
    private readonly store: StateStore,
    private readonly scope: Scope,
    private readonly locks: readonly Lock[],
  ) {}

  /** The keys of all clusters, or those of one. */
  async of(clusterId?: string): Promise<KeyOf[]> {
    const keys = clusterId === undefined ? await this.#ofAll() : await this.#ofCluster(clusterId);
    return [...new Map(keys.map((key) => [JSON.stringify([key.clusterId, key.printKey]), key])).values()];
  }

  async #ofAll(): Promise<KeyOf[]> {
    const keys: KeyOf[] = [];
    // The record of an earlier version has the prefix itself as its key.
    const records = valuesBelow<unknown>(this.store, this.#whole, { limit: READ_AT_ONCE });
    for await (const { value } of records) keys.push(...readKeys(value));
    return keys;
  }

  async #ofCluster(clusterId: string): Promise<KeyOf[]> {
    const own = readKeys(await this.store.get<unknown>(this.#recordOf(clusterId)));
    return [...own, ...(await this.#earlier())].filter((key) => key.clusterId === clusterId);
  }

  async add(key: KeyOf): Promise<void> {
    const add = (keys: KeyOf[]) => (keys.some(same(key)) ? keys : [...keys, key]);
    await this.#update(this.#recordOf(key.clusterId), add);
  }

  /** Returns whether the key was in the index. */
  async remove(key: KeyOf): Promise<boolean> {
    let wasThere = false;
    const remove = (keys: KeyOf[]) => {
      const left = keys.filter((other) => !same(key)(other));
      if (left.length === keys.length) return keys;
      wasThere = true;
      return left;
    };
    await this.#update(this.#recordOf(key.clusterId), remove);
    if ((await this.#earlier()).some(same(key))) await this.#update(this.#whole, remove);
    return wasThere;
  }

  async #earlier(): Promise<KeyOf[]> {
    return readKeys(await this.store.get<unknown>(this.#whole));
  }

  async #update(at: Key, change: (keys: KeyOf[]) => KeyOf[]): Promise<void> {
    const changed = (stored: unknown) => {
      const keys = change(readKeys(stored));
      return keys.length > 0 ? keys : undefined;
    };
    await this.store.update<unknown>(at, changed, { under: this.locks });
  }

  get #whole(): Key {
    return ['open-prints', ...this.scope];
  }

  #recordOf(clusterId: string): Key {
    return ['open-prints', ...this.scope, clusterId];
  }
}

/** The keys of a stored index; an entry of another shape is left out. */
const readKeys = (stored: unknown): KeyOf[] =>
  list(stored).flatMap((entry) => {
    const [clusterId, printKey] = [text(record(entry)?.clusterId), text(record(entry)?.printKey)];
    return clusterId === null || printKey === null ? [] : [{ clusterId, printKey }];
  });

const same = (one: KeyOf) => (other: KeyOf) => one.clusterId === other.clusterId && one.printKey === other.printKey;
