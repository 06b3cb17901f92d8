import type { Key, StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import { underDeadline } from '../time/deadline';
import { grantFor, grantKey, isLater, withGrant, type Grant, type Grants, type SignInSettings } from './grant';

/** Longest wait for the sign-in's lock when the only aim is to reseal the grant, ms. */
const LONGEST_SEALING = 2_000;

interface SavedGrantOptions {
  accountId: string;
  settings: SignInSettings;
  store: StateStore;
  clock: Clock;
}

/** The stored grant of one account at one service. */
export class SavedGrant {
  readonly #options: SavedGrantOptions;
  readonly #key: ReturnType<typeof grantKey>;

  constructor(options: SavedGrantOptions) {
    this.#options = options;
    this.#key = grantKey(options.accountId);
  }

  /** Calls `listener` after each change by another runtime. Returns a function that ends this. */
  onChange(listener: () => void): () => void {
    const key = JSON.stringify(this.#key);
    const onStoreChange = (changed: Key | null) => {
      if (changed === null || JSON.stringify(changed) === key) listener();
    };
    return this.#options.store.onChange?.(onStoreChange) ?? (() => undefined);
  }

  /**
   * Reads the grant and writes it back unchanged, so that it is always sealed with the current secret. A failure to do
   * so is harmless. An earlier instance in the middle of a slow renewal may hold the lock for minutes.
   */
  async load(closing: AbortSignal): Promise<Grant | undefined> {
    const { store, settings, clock } = this.#options;
    const copy = (grants: Grants | undefined) => grants && { ...grants };
    const limit = { ms: LONGEST_SEALING, parent: closing };
    const stored = await underDeadline(clock, limit, (deadline) =>
      store.update<Grants>(this.#key, copy, { deadline }),
    ).catch(() => store.get<Grants>(this.#key));
    return grantFor(stored, settings);
  }

  /** Reads the grant. With `isUnsaved`, reads past the own pair that is still unwritten. */
  async read(isUnsaved: boolean): Promise<Grant | undefined> {
    const { store, settings } = this.#options;
    // `get` returns a pair that is still unwritten, although a sign-out elsewhere may have invalidated it.
    const stored = await (isUnsaved
      ? store.update<Grants>(this.#key, (grants) => grants)
      : store.get<Grants>(this.#key));
    return grantFor(stored, settings);
  }

  /** Restores renewals that the store has lost in a failover; otherwise a runtime would reuse a spent token. */
  async writeBack(own: Grant): Promise<Grant | undefined> {
    const { store, settings } = this.#options;
    const newer = (stored: Grants | undefined) =>
      isLater(own, grantFor(stored, settings)) ? withGrant(stored, settings, own) : stored;
    return grantFor(await store.update<Grants>(this.#key, newer, { insist: true, notify: true }), settings);
  }

  async remove(): Promise<void> {
    const { store, settings } = this.#options;
    await store.update<Grants>(this.#key, (stored) => withGrant(stored, settings, undefined), { notify: true });
  }
}
