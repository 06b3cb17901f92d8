import { randomBytes } from 'node:crypto';
import { asPrintingError, PrintingError } from '../service/errors';
import type { StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import { Deadline } from '../time/deadline';
import { grantKey, withGrant, type Grants, type SignInSettings } from './grant';
import type { TokenEndpoint } from './token-endpoint';
import { say, type Sentence } from '../words/say';

export interface Beginning {
  accountId: string;
  settings: SignInSettings;
  redirectUri: string;
  /** Workspace to land in; blank: the service asks the user. */
  organizationId: string;
  /** Whether its tokens are still wanted when the browser comes back. Default: always. */
  isWanted?: () => boolean;
}

interface Pending extends Beginning {
  endsAt: number;
}

/** How the sign-in that was begun last for an account ended, where it came to nothing. */
interface Failed {
  /** Of that sign-in. */
  state: string;
  /** One sentence; null while it is under way. */
  why: Sentence | null;
  endsAt: number;
}

/** A redirect comes back within minutes or not at all. */
const LASTS = 10 * 60 * 1000;
/** Of the code for tokens, ms. */
const LONGEST_EXCHANGE = 60_000;
/** More sign-ins at once than people could begin; the oldest give way. */
const MOST = 100;

/**
 * Sign-ins under way: from the authorize address to the redirect back (interface, Authentication 1 to 6). Each has a
 * random state that works once, for ten minutes, for its own account.
 */
export class Authorization {
  readonly #pending = new Map<string, Pending>();
  /** By account. */
  readonly #latest = new Map<string, Failed>();
  readonly #deps: { store: StateStore; clock: Clock; endpoint: TokenEndpoint };

  constructor(deps: { store: StateStore; clock: Clock; endpoint: TokenEndpoint }) {
    this.#deps = deps;
  }

  /** The address to send the user's browser to. */
  begin(beginning: Beginning): string {
    this.#dropOld(MOST - 1);
    const state = randomBytes(32).toString('base64url');
    this.#pending.set(state, { ...beginning, endsAt: this.#later() });
    this.#latest.delete(beginning.accountId);
    this.#latest.set(beginning.accountId, { state, why: null, endsAt: this.#later() });
    const { settings, redirectUri, organizationId } = beginning;
    const query = {
      client_id: settings.clientId,
      redirect_uri: redirectUri,
      scope: settings.scope,
      response_type: 'code',
      state,
      ...(organizationId ? { organization_id: organizationId } : {}),
    };
    // The interface wants spaces as %20, URLSearchParams would write them as plus signs.
    const words = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    return `${settings.authUrl}/authorize?${words.join('&')}`;
  }

  /**
   * Ends the sign-in that `query` (of the redirect) belongs to: the grant is stored. Answers whose it is.
   * @param accountId the account that must own it, where that is known
   * @throws PrintingError INVALID_INPUT for a state that is unknown, used, too old or another account's: the service
   *   is not asked then. FORBIDDEN when the user refused. Else what the token endpoint throws.
   */
  async complete(query: URLSearchParams, accountId?: string): Promise<string> {
    this.#dropOld(MOST);
    const state = query.get('state') ?? '';
    const pending = this.#pending.get(state);
    if (!pending || (accountId !== undefined && pending.accountId !== accountId))
      throw new PrintingError(
        'INVALID_INPUT',
        say`This sign-in is unknown, has already been used or is too old: start it again.`,
      );
    this.#pending.delete(state);
    try {
      await this.#grant(pending, query);
    } catch (error) {
      this.#fail(state, pending, asPrintingError(error).sentence);
      throw error;
    }
    this.#latest.delete(pending.accountId);
    return pending.accountId;
  }

  async #grant({ accountId, settings, redirectUri, isWanted = () => true }: Pending, query: URLSearchParams) {
    if (!isWanted()) throw unwanted();
    const code = query.get('code');
    if (!code) {
      const reason = /^[\w.-]{1,60}$/.exec(query.get('error_code') ?? query.get('error') ?? '')?.[0] ?? say`no code`;
      throw new PrintingError('FORBIDDEN', say`The sign-in was refused (${reason}): start it again and approve it.`);
    }
    const { store, clock, endpoint } = this.#deps;
    const deadline = new Deadline(clock, { ms: LONGEST_EXCHANGE, cure: say`start the sign-in again` });
    const grant = await endpoint.exchange(settings, code, redirectUri, deadline).finally(() => deadline.end());
    const keep = (stored: Grants | undefined) => {
      // Under the lock: an account that is deleted now finds nothing stored after it.
      if (!isWanted()) throw unwanted();
      return withGrant(stored, settings, grant);
    };
    await store.update<Grants>(grantKey(accountId), keep, { insist: true });
  }

  /** Whether a sign-in of this account has begun and not ended, and is still wanted. */
  isUnderWay(accountId: string): boolean {
    this.#dropOld(MOST);
    return [...this.#pending.values()].some(
      (pending) => pending.accountId === accountId && (pending.isWanted?.() ?? true),
    );
  }

  /** Why the latest sign-in of this account came to nothing, for some minutes; null where it did not. */
  failure(accountId: string): Sentence | null {
    this.#dropOld(MOST);
    return this.#latest.get(accountId)?.why ?? null;
  }

  /** Nothing is said of earlier sign-ins of this account any more. */
  forget(accountId: string): void {
    this.#latest.delete(accountId);
  }

  #fail(state: string, { accountId, isWanted = () => true }: Pending, why: Sentence): void {
    // Whoever began another since waits for that one; whoever deleted the account, for none.
    if (this.#latest.get(accountId)?.state !== state) return;
    if (isWanted()) this.#latest.set(accountId, { state, why, endsAt: this.#later() });
    else this.#latest.delete(accountId);
  }

  readonly #later = () => this.#deps.clock.monotonic() + LASTS;

  #dropOld(most: number): void {
    const now = this.#deps.clock.monotonic();
    for (const [accountId, { endsAt, why }] of this.#latest)
      if ((endsAt <= now && why !== null) || this.#latest.size > MOST) this.#latest.delete(accountId);
    for (const [state, pending] of this.#pending) {
      if (pending.endsAt <= now)
        this.#fail(state, pending, say`The sign-in took longer than ten minutes: start it again.`);
      if (pending.endsAt <= now || this.#pending.size > most) this.#pending.delete(state);
    }
  }
}

const unwanted = () =>
  new PrintingError(
    'INVALID_INPUT',
    say`The account was changed or deleted in the meantime: open it and start the sign-in again.`,
  );
