import type { Lock } from './membership';
import type { Change, Key, PutOptions, StateStore } from './store';

/** Most changes of one write: a crash before its end undoes no more of them, and they delay the event loop only briefly. */
const MOST = 250;

/** A change in a group, and what became of it before the write. */
interface Member<T> {
  change: Change<T>;
  failure?: { error: unknown };
}

interface Group<T> {
  members: Member<T>[];
  /** Settles with the write that contains all changes. */
  written: Promise<unknown>;
}

/**
 * Changes of values that many callers change at once, such as an index. One write serves all changes of a value that arrive
 * before it begins; each of them sees the result of those before it.
 */
export class GroupedUpdates<T> {
  /** The groups that have not begun, by key. */
  readonly #waiting = new Map<string, Group<T>>();

  constructor(
    private readonly store: Pick<StateStore, 'update'>,
    private readonly options: PutOptions,
  ) {}

  /**
   * Changes a value as `StateStore.update` does, and is in turn with its other updates. Rejects with what `change` throws,
   * which leaves the other changes of its group alone, or with the failure of the write, which all of them share. `change`
   * may only secure its lock.
   */
  async update(key: Key, change: Change<T>): Promise<void> {
    const name = JSON.stringify(key);
    const group = this.#waiting.get(name) ?? this.#begin(key, name);
    const member: Member<T> = { change };
    group.members.push(member);
    if (group.members.length >= MOST) this.#close(name, group);
    const failure = await group.written.then(
      () => member.failure,
      (error: unknown) => member.failure ?? { error },
    );
    if (failure) throw failure.error;
  }

  /** Asks for the value's lock at once, so that later updates of the store come after this group. */
  #begin(key: Key, name: string): Group<T> {
    const group: Group<T> = { members: [], written: Promise.resolve() };
    this.#waiting.set(name, group);
    const changeAll: Change<T> = async (current, lock) => {
      this.#close(name, group);
      const shared = securedOnce(lock);
      let value = current;
      for (const member of group.members)
        try {
          value = await member.change(value, shared);
        } catch (error) {
          member.failure = { error };
        }
      return value;
    };
    // A value that can't be read ends the group before its changes.
    group.written = this.store.update<T>(key, changeAll, this.options).finally(() => this.#close(name, group));
    return group;
  }

  #close(name: string, group: Group<T>): void {
    if (this.#waiting.get(name) === group) this.#waiting.delete(name);
  }
}

/** The lock for the changes of one group, which is secured again only for a longer time. */
function securedOnce(lock: Lock): Lock {
  let last: { ms: number; secured: Promise<() => void> } | undefined;
  const secure = (ms: number) => {
    if (!last || ms > last.ms) last = { ms, secured: lock.secure(ms) };
    return last.secured;
  };
  return { secure };
}
