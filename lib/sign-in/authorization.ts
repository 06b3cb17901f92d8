import { randomBytes } from 'node:crypto';
import { PrintingError } from '../service/errors';
import type { StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import { Deadline } from '../time/deadline';
import { grantKey, withGrant, type Grants, type SignInSettings } from './grant';
import type { TokenEndpoint } from './token-endpoint';

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
  readonly #deps: { store: StateStore; clock: Clock; endpoint: TokenEndpoint };

  constructor(deps: { store: StateStore; clock: Clock; endpoint: TokenEndpoint }) {
    this.#deps = deps;
  }

  /** The address to send the user's browser to. */
  begin(beginning: Beginning): string {
    this.#dropOld(MOST - 1);
    const state = randomBytes(32).toString('base64url');
    this.#pending.set(state, { ...beginning, endsAt: this.#deps.clock.monotonic() + LASTS });
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
        'This sign-in is not known, was used already or is too old: begin it again.',
      );
    this.#pending.delete(state);
    const { isWanted = () => true } = pending;
    if (!isWanted()) throw unwanted();
    const code = query.get('code');
    if (!code) {
      const reason = /^[\w.-]{1,60}$/.exec(query.get('error_code') ?? query.get('error') ?? '')?.[0] ?? 'no code';
      throw new PrintingError('FORBIDDEN', `The sign-in was refused (${reason}): begin it again and approve it.`);
    }
    const { store, clock, endpoint } = this.#deps;
    const { settings, redirectUri } = pending;
    const deadline = new Deadline(clock, { ms: LONGEST_EXCHANGE, cure: 'begin the sign-in again' });
    const grant = await endpoint.exchange(settings, code, redirectUri, deadline).finally(() => deadline.end());
    const keep = (stored: Grants | undefined) => {
      // Under the lock: an account that is deleted now finds nothing stored after it.
      if (!isWanted()) throw unwanted();
      return withGrant(stored, settings, grant);
    };
    await store.update<Grants>(grantKey(pending.accountId), keep, { insist: true });
    return pending.accountId;
  }

  /** Whether a sign-in of this account has begun and not ended. */
  isUnderWay(accountId: string): boolean {
    this.#dropOld(MOST);
    return [...this.#pending.values()].some((pending) => pending.accountId === accountId);
  }

  #dropOld(most: number): void {
    const now = this.#deps.clock.monotonic();
    for (const [state, { endsAt }] of this.#pending)
      if (endsAt <= now || this.#pending.size > most) this.#pending.delete(state);
  }
}

const unwanted = () =>
  new PrintingError(
    'INVALID_INPUT',
    'The account was changed or deleted meanwhile: open it and begin the sign-in again.',
  );
