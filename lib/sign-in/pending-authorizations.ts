import { randomBytes } from 'node:crypto';
import type { StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import { underDeadline } from '../time/deadline';
import { phrase, Sentence } from '../words/sentence';
import type { SignInSettings } from './grant';

export interface Beginning {
  accountId: string;
  settings: SignInSettings;
  redirectUri: string;
  /** Workspace to land in; blank: the service asks the user. */
  organizationId: string;
  /** The SHA-256 of the value that the beginning browser keeps; missing: no redirect of a browser ends the sign-in. */
  browser?: string;
  /** What was deployed of the account then, in words of who begins; null: nothing. */
  deployed?: string | null;
}

/** Whether the tokens of a sign-in are still wanted, as far as this runtime can tell. */
export type IsWanted = (beginning: Beginning) => boolean;

/** What is known of the sign-ins of an account. */
export interface Known {
  /** Whether one has begun and not ended, and is still wanted. */
  underWay: boolean;
  /** Why the latest came to nothing, for some minutes; null where it did not. */
  failure: Sentence | null;
}

interface Pending {
  state: string;
  /** Wall time, ms. */
  begunAt: number;
  /** It has come back, and can't once more. */
  used: boolean;
  /** Null: its account was deleted. */
  beginning: Beginning | null;
}

/** Of one account, as it is stored (sealed). */
interface Stored {
  /** The oldest first. */
  pending: Pending[];
  /** The one that was begun last, until it succeeds. */
  latest: { state: string; why: Sentence | null; at: number } | null;
}

/** A redirect comes back within minutes or not at all. */
const LASTS = 10 * 60 * 1000;
const KEPT = { keepFor: 3 * LASTS };
/** Of one account at once, more than people could begin; the oldest give way. */
const MOST = 100;
/** For somebody else's lock, ms. */
const LONGEST_WAIT = 60_000;

/**
 * The sign-ins under way. Each has a random state that works once, for ten minutes, for its own account, at every runtime
 * that has the store; the state says whose it is.
 */
export class PendingAuthorizations {
  readonly #store: StateStore;
  readonly #clock: Clock;
  /** When those that began here end, by the monotonic clock: nobody sets it. */
  readonly #ends = new Map<string, number>();

  constructor(store: StateStore, clock: Clock) {
    this.#store = store;
    this.#clock = clock;
  }

  /** Answers the state of a new one. */
  async begin(beginning: Beginning): Promise<string> {
    const { accountId } = beginning;
    const state = `${randomBytes(32).toString('base64url')}.${Buffer.from(accountId).toString('base64url')}`;
    const now = this.#clock.monotonic();
    for (const [other, end] of this.#ends) if (end + LASTS <= now) this.#ends.delete(other);
    this.#ends.set(state, now + LASTS);
    const begunAt = this.#clock.now();
    await this.#change(accountId, ({ pending }) => ({
      pending: [
        ...pending.filter((one) => !this.#isOver(one)).slice(1 - MOST),
        { state, begunAt, used: false, beginning },
      ],
      latest: { state, why: null, at: begunAt },
    }));
    return state;
  }

  /**
   * Uses a state up. Undefined where it is unknown, used, too old or another account's; null where its account was deleted.
   */
  async use(state: string, accountId?: string): Promise<Beginning | null | undefined> {
    const owner = ownerOf(state);
    const isGood = (one: Pending) => one.state === state && !one.used && !this.#isOver(one);
    if (accountId !== undefined && accountId !== owner) return undefined;
    // Anybody may ask: who knows no state has nothing written.
    if (!(await this.#read(owner)).pending.some(isGood)) return undefined;
    let beginning: Beginning | null | undefined;
    await this.#change(owner, ({ pending, latest }) => {
      beginning = pending.find(isGood)?.beginning;
      return { pending: pending.map((one) => (one.state === state ? { ...one, used: true } : one)), latest };
    });
    return beginning;
  }

  /** Whether a good state belongs to a sign-in that another browser began than the one of this hash. */
  async isOfAnotherBrowser(state: string, browser: string | null): Promise<boolean> {
    const { pending } = await this.#read(ownerOf(state));
    const one = pending.find((other) => other.state === state && !other.used && !this.#isOver(other));
    return !!one?.beginning && one.beginning.browser !== (browser ?? '');
  }

  /** Whether the account of a state that was used was deleted since. */
  async isDeleted(state: string): Promise<boolean> {
    const { pending } = await this.#read(ownerOf(state));
    return !pending.find((one) => one.state === state)?.beginning;
  }

  /** It has ended. `why`: it came to nothing, and whoever waits for it is told. */
  end(state: string, why: Sentence | null): Promise<void> {
    return this.#change(ownerOf(state), ({ pending, latest }) => ({
      pending: pending.filter((one) => one.state !== state),
      latest: latest?.state !== state ? latest : why && { state, why, at: this.#clock.now() },
    }));
  }

  async known(accountId: string, isWanted: IsWanted): Promise<Known> {
    const { pending, latest } = await this.#read(accountId);
    const wanted = pending.filter(({ beginning }) => beginning && isWanted(beginning));
    const underWay = wanted.some((one) => !this.#isOver(one));
    if (!latest) return { underWay, failure: null };
    const isLate = wanted.some((one) => one.state === latest.state && !one.used && this.#isOver(one));
    const why = latest.why ?? (isLate ? phrase`The sign-in took longer than ten minutes: start it again.` : null);
    const age = this.#clock.now() - latest.at;
    return { underWay, failure: age < (latest.why ? LASTS : 2 * LASTS) ? why : null };
  }

  /** Nothing is said of earlier ones any more. */
  async forget(accountId: string): Promise<void> {
    if ((await this.#read(accountId)).latest)
      await this.#change(accountId, ({ pending }) => ({ pending, latest: null }));
  }

  /** The account was deleted: none of its sign-ins is wanted any more, and their secrets are gone. */
  async delete(accountId: string): Promise<void> {
    const { pending, latest } = await this.#read(accountId);
    if (pending.length > 0 || latest)
      await this.#change(accountId, (current) => ({
        pending: current.pending.map((one) => ({ ...one, beginning: null })),
        latest: null,
      }));
  }

  #isOver({ state, begunAt }: Pending): boolean {
    const end = this.#ends.get(state);
    return end === undefined ? Math.abs(this.#clock.now() - begunAt) >= LASTS : this.#clock.monotonic() >= end;
  }

  async #read(accountId: string): Promise<Stored> {
    return read(await this.#store.get<Stored>(keyOf(accountId)));
  }

  async #change(accountId: string, change: (current: Stored) => Stored): Promise<void> {
    const changed = (stored: Stored | undefined) => {
      const next = change(read(stored));
      return next.pending.length > 0 || next.latest ? next : undefined;
    };
    const limit = { ms: LONGEST_WAIT, cure: phrase`start the sign-in again` };
    await underDeadline(this.#clock, limit, (deadline) =>
      this.#store.update<Stored>(keyOf(accountId), changed, { ...KEPT, deadline }),
    );
  }
}

const keyOf = (accountId: string) => ['sign-in', accountId] as const;

/** Whose a state says that it is. */
const ownerOf = (state: string): string => Buffer.from(state.split('.')[1] ?? '', 'base64url').toString();

const read = (stored: Stored | undefined): Stored => {
  const { pending, latest } = stored ?? { pending: [], latest: null };
  return { pending, latest: latest && { ...latest, why: latest.why && Sentence.from(latest.why) } };
};
