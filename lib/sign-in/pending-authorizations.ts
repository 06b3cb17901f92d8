import { randomBytes } from 'node:crypto';
import { TEXT } from '../rules/limits';
import { record } from '../service/json-readers';
import type { StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import { underDeadline } from '../time/deadline';
import { phrase, Sentence } from '../words/sentence';
import type { SignInSettings } from './grant';

export interface Beginning {
  accountId: string;
  settings: SignInSettings;
  redirectUri: string;
  /** Workspace to sign in to; blank: the service asks the user. */
  organizationId: string;
  /** SHA-256 of the value that the beginning browser keeps. Missing: no redirect completes the sign-in. */
  browser?: string;
  /** The deployed account when the sign-in began, in a form that only the caller reads; null: none was deployed. */
  deployed?: string | null;
}

/** Whether the tokens of a sign-in are still wanted, as far as this runtime knows. */
export type IsWanted = (beginning: Beginning) => boolean;

/** Progress of an account's sign-ins. */
export interface Known {
  /** Whether a wanted sign-in has begun and not ended. */
  underWay: boolean;
  /** Why the latest one failed, for some minutes; null if it didn't. */
  failure: Sentence | null;
}

interface Pending {
  state: string;
  /** Wall time, ms; only older versions read it. */
  begunAt: number;
  /** The redirect has come back; a second one is refused. */
  used: boolean;
  /** Null: its account was deleted. */
  beginning: Beginning | null;
}

/** Sign-ins of one account, as stored (sealed). */
interface Stored {
  /** Oldest first. */
  pending: Pending[];
  /** The one begun last, until it succeeds. */
  latest: { state: string; why: Sentence | null; at: number } | null;
}

/** Whether a stored value has the shape of an account's pending sign-ins. */
export function isSignIns(value: unknown): boolean {
  const { pending, latest } = record(value) ?? {};
  const isNamed = (one: unknown) => typeof record(one)?.state === 'string';
  return Array.isArray(pending) && pending.every(isNamed) && (latest === null || isNamed(latest));
}

/** Lifetime of a state: a redirect comes back within minutes or not at all. */
const LASTS = 10 * 60 * 1000;
const KEPT = { keepFor: 3 * LASTS };
/** Most pending sign-ins of one account, more than users could begin. The oldest are dropped. */
const MOST = 100;
/** Longest wait for another runtime's lock, ms. */
const LONGEST_WAIT = 60_000;

/**
 * Pending sign-ins. Each has a random state that names its account and works once, for ten minutes, for that account
 * only, at every runtime on the store. The clocks of the runtimes may differ, so each counts from when it first saw the state.
 */
export class PendingAuthorizations {
  /** When each stored state expires here, by the monotonic clock, which can't be set; by account. */
  readonly #ends = new Map<string, ReadonlyMap<string, number>>();

  constructor(
    private readonly store: StateStore,
    private readonly clock: Clock,
  ) {}

  /** Begins a sign-in. Returns its state. */
  async begin(beginning: Beginning): Promise<string> {
    const { accountId } = beginning;
    const state = `${randomBytes(32).toString('base64url')}.${Buffer.from(accountId).toString('base64url')}`;
    const begunAt = this.clock.now();
    await this.#change(accountId, ({ pending }) => ({
      pending: [
        ...pending.filter((one) => !this.#isExpired(one)).slice(1 - MOST),
        { state, begunAt, used: false, beginning },
      ],
      latest: { state, why: null, at: begunAt },
    }));
    return state;
  }

  /**
   * Uses a state up. Returns undefined if it is unknown, used, expired or another account's; null if its account was
   * deleted.
   */
  async use(state: string, accountId?: string): Promise<Beginning | null | undefined> {
    const owner = ownerOf(state);
    const isValid = (one: Pending) => one.state === state && !one.used && !this.#isExpired(one);
    if (accountId !== undefined && accountId !== owner) return undefined;
    // Anyone may call this, so an unknown state must not cause a write.
    if (!(await this.#read(owner)).pending.some(isValid)) return undefined;
    let beginning: Beginning | null | undefined;
    await this.#change(owner, ({ pending, latest }) => {
      beginning = pending.find(isValid)?.beginning;
      return { pending: pending.map((one) => (one.state === state ? { ...one, used: true } : one)), latest };
    });
    return beginning;
  }

  /** Whether a valid state belongs to a sign-in that another browser began than the one with this hash. */
  async isOfAnotherBrowser(state: string, browser: string | null): Promise<boolean> {
    const { pending } = await this.#read(ownerOf(state));
    const one = pending.find((other) => other.state === state && !other.used && !this.#isExpired(other));
    return !!one?.beginning && one.beginning.browser !== (browser ?? '');
  }

  /** Whether the account of a used state has been deleted since. */
  async isDeleted(state: string): Promise<boolean> {
    const { pending } = await this.#read(ownerOf(state));
    return !pending.find((one) => one.state === state)?.beginning;
  }

  /** Ends a sign-in. `why`: the reason of its failure, for the waiting dialog; null if there is nothing to report. */
  end(state: string, why: Sentence | null): Promise<void> {
    return this.#change(ownerOf(state), ({ pending, latest }) => ({
      pending: pending.filter((one) => one.state !== state),
      latest: latest?.state !== state ? latest : why && { state, why, at: this.clock.now() },
    }));
  }

  async known(accountId: string, isWanted: IsWanted): Promise<Known> {
    const { pending, latest } = await this.#read(accountId);
    const wanted = pending.filter(({ beginning }) => beginning && isWanted(beginning));
    const underWay = wanted.some((one) => !this.#isExpired(one));
    if (!latest) return { underWay, failure: null };
    const hasExpired = wanted.some((one) => one.state === latest.state && !one.used && this.#isExpired(one));
    const why = latest.why ?? (hasExpired ? phrase`The sign-in took longer than ten minutes: start it again.` : null);
    const age = this.clock.now() - latest.at;
    return { underWay, failure: age < (latest.why ? LASTS : 2 * LASTS) ? why : null };
  }

  /** Forgets the failure of earlier sign-ins. */
  async forget(accountId: string): Promise<void> {
    if ((await this.#read(accountId)).latest)
      await this.#change(accountId, ({ pending }) => ({ pending, latest: null }));
  }

  /** Discards all sign-ins of a deleted account, and their secrets. */
  async delete(accountId: string): Promise<void> {
    const { pending, latest } = await this.#read(accountId);
    if (pending.length > 0 || latest)
      await this.#change(accountId, (current) => ({
        pending: current.pending.map((one) => ({ ...one, beginning: null })),
        latest: null,
      }));
  }

  #isExpired({ state }: Pending): boolean {
    const end = this.#ends.get(ownerOf(state))?.get(state);
    return end !== undefined && this.clock.monotonic() >= end;
  }

  /** Begins the ten minutes of states that are new here. */
  #see(accountId: string, stored: Stored): Stored {
    const known = this.#ends.get(accountId);
    const end = this.clock.monotonic() + LASTS;
    this.#ends.set(accountId, new Map(stored.pending.map(({ state }) => [state, known?.get(state) ?? end])));
    if (stored.pending.length === 0) this.#ends.delete(accountId);
    return stored;
  }

  async #read(accountId: string): Promise<Stored> {
    return this.#see(accountId, read(await this.store.get<Stored>(keyOf(accountId))));
  }

  async #change(accountId: string, change: (current: Stored) => Stored): Promise<void> {
    const changed = (stored: Stored | undefined) => {
      const next = this.#see(accountId, change(this.#see(accountId, read(stored))));
      return next.pending.length > 0 || next.latest ? next : undefined;
    };
    const limit = { ms: LONGEST_WAIT, cure: phrase`start the sign-in again` };
    await underDeadline(this.clock, limit, (deadline) =>
      this.store.update<Stored>(keyOf(accountId), changed, { ...KEPT, deadline }),
    );
  }
}

const keyOf = (accountId: string) => ['sign-in', accountId] as const;

/** The account that a state names; not verified. */
const ownerOf = (state: string): string =>
  Buffer.from(state.slice(0, TEXT.matched).split('.')[1] ?? '', 'base64url').toString();

const read = (stored: Stored | undefined): Stored => {
  const { pending, latest } = stored ?? { pending: [], latest: null };
  return { pending, latest: latest && { ...latest, why: latest.why && Sentence.from(latest.why) } };
};
