import type { Change, Key, ListOptions, PutOptions, StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import type { Histogram } from './exposition';

/**
 * Measures a store. An update counts from the result of its change on: before that it may wait long for the lock, and the
 * change itself may be a request.
 */
export function timedStore(
  store: StateStore,
  { clock, storeTime }: { clock: Clock; storeTime: Record<'read' | 'write', Histogram> },
): StateStore {
  const timed = async <T>(histogram: Histogram, work: Promise<T>, start = clock.monotonic()): Promise<T> => {
    try {
      return await work;
    } finally {
      histogram.count(clock.monotonic() - start);
    }
  };
  return {
    get runtime() {
      return store.runtime;
    },
    get: <T>(key: Key) => timed(storeTime.read, store.get<T>(key)),
    put: (key, value, options) => timed(storeTime.write, store.put(key, value, options)),
    delete: (key, options) => timed(storeTime.write, store.delete(key, options)),
    async update<T>(key: Key, change: Change<T>, options?: PutOptions) {
      let changedAt: number | undefined;
      const timedChange: Change<T> = async (current, lock) => {
        const changed = await change(current, lock);
        changedAt = clock.monotonic();
        return changed;
      };
      try {
        return await store.update(key, timedChange, options);
      } finally {
        if (changedAt !== undefined) storeTime.write.count(clock.monotonic() - changedAt);
      }
    },
    waitForLock: (key, work, deadline) => store.waitForLock(key, work, deadline),
    list: <T>(prefix: Key, options: ListOptions) => timed(storeTime.read, store.list<T>(prefix, options)),
    ...(store.onChange && { onChange: store.onChange.bind(store) }),
    ...(store.join && { join: store.join.bind(store) }),
  };
}
