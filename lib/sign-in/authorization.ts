import { asPrintingError, PrintingError } from '../service/errors';
import type { StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import { Deadline } from '../time/deadline';
import { phrase } from '../words/sentence';
import { grantKey, withGrant, type Grants } from './grant';
import type { Renewals } from './renewals';
import { PendingAuthorizations, type Beginning, type IsWanted, type Known } from './pending-authorizations';
import type { TokenEndpoint } from './token-endpoint';

export type { Beginning, IsWanted } from './pending-authorizations';

interface AuthorizationDeps {
  store: StateStore;
  /** Where sign-ins under way lie: the runtimes that share it share them. */
  signIns: StateStore;
  clock: Clock;
  endpoint: TokenEndpoint;
  /** Those that a new sign-in or a sign-out makes pointless. */
  renewals?: Renewals;
}

interface Completing {
  /** The account that must own it, where that is known. */
  accountId?: string | undefined;
  /**
   * The SHA-256 of the value that the redirected browser has kept, null for none. Undefined: a user who may sign the
   * account in hands the address over, whichever browser it is from.
   */
  browser?: string | null | undefined;
  /** Default: it always is. */
  isWanted?: IsWanted;
}

/** Of the code for tokens, ms. */
const LONGEST_EXCHANGE = 60_000;

/** The way of a sign-in from the authorize address to the redirect back (interface, Authentication 1 to 6). */
export class Authorization {
  readonly #deps: AuthorizationDeps;
  readonly #signIns: PendingAuthorizations;

  constructor(deps: AuthorizationDeps) {
    this.#deps = deps;
    this.#signIns = new PendingAuthorizations(deps.signIns, deps.clock);
  }

  /** The address to send the user's browser to. */
  async begin(beginning: Beginning): Promise<string> {
    const { settings, redirectUri, organizationId } = beginning;
    const query = {
      client_id: settings.clientId,
      redirect_uri: redirectUri,
      scope: settings.scope,
      response_type: 'code',
      state: await this.#signIns.begin(beginning),
      ...(organizationId ? { organization_id: organizationId } : {}),
    };
    // The interface wants spaces as %20, URLSearchParams would write them as plus signs.
    const words = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    return `${settings.authUrl}/authorize?${words.join('&')}`;
  }

  /**
   * Ends the sign-in that `query` (of the redirect) belongs to: the grant is stored. Answers whose it is.
   * @throws PrintingError INVALID_INPUT for a state that is unknown, used, too old or another account's, for an account
   *   that was changed or deleted, and for another browser than the one that began, which leaves the state good: the
   *   service is not asked then. FORBIDDEN when the user refused. Else what the
   *   token endpoint throws.
   */
  async complete(
    query: URLSearchParams,
    { accountId, browser, isWanted = () => true }: Completing = {},
  ): Promise<string> {
    const state = query.get('state') ?? '';
    if (browser !== undefined && (await this.#signIns.isOfAnotherBrowser(state, browser)))
      throw new PrintingError(
        'INVALID_INPUT',
        phrase`The sign-in was begun elsewhere: copy the address of this page, and paste it into the account's dialog in Node-RED.`,
      );
    const beginning = await this.#signIns.use(state, accountId);
    if (beginning === undefined)
      throw new PrintingError(
        'INVALID_INPUT',
        accountId === undefined
          ? phrase`This sign-in is unknown, has already been used or is too old: start it again.`
          : phrase`The pasted address is that of another sign-in, has already been used or is too old: start the sign-in again.`,
      );
    const end = (why: Parameters<PendingAuthorizations['end']>[1]) =>
      // What can't be noted now is forgotten soon.
      this.#signIns.end(state, why).catch(() => undefined);
    try {
      if (!beginning) throw unwanted();
      await this.#grant(state, beginning, query, isWanted);
    } catch (error) {
      // Whoever deleted the account waits for nothing.
      await end(beginning && isWanted(beginning) ? asPrintingError(error).sentence : null);
      throw error;
    }
    await end(null);
    return beginning.accountId;
  }

  async #grant(state: string, beginning: Beginning, query: URLSearchParams, isWanted: IsWanted): Promise<void> {
    const { accountId, settings, redirectUri } = beginning;
    if (!isWanted(beginning)) throw unwanted();
    const code = query.get('code');
    if (!code) {
      const reason = /^[\w.-]{1,60}$/.exec(query.get('error_code') ?? query.get('error') ?? '')?.[0] ?? phrase`no code`;
      throw new PrintingError('FORBIDDEN', phrase`The sign-in was refused (${reason}): start it again and approve it.`);
    }
    const { store, clock, endpoint, renewals } = this.#deps;
    const deadline = new Deadline(clock, { ms: LONGEST_EXCHANGE, cure: phrase`start the sign-in again` });
    const grant = await endpoint.exchange(settings, code, redirectUri, deadline).finally(() => deadline.end());
    const keep = async (stored: Grants | undefined) => {
      // Under the lock: an account that is deleted now, here or elsewhere, finds nothing stored after it.
      if (!isWanted(beginning) || (await this.#signIns.isDeleted(state))) throw unwanted();
      return withGrant(stored, settings, grant);
    };
    renewals?.supersede(accountId, settings);
    await store.update<Grants>(grantKey(accountId), keep, { insist: true, tell: true });
  }

  /** What is known of the sign-ins of this account; rejects where that can't be read now. */
  known(accountId: string, isWanted: IsWanted = () => true): Promise<Known> {
    return this.#signIns.known(accountId, isWanted);
  }

  /** Nothing is said of earlier sign-ins of this account any more. */
  forget(accountId: string): Promise<void> {
    return this.#signIns.forget(accountId);
  }

  /** Forgets the sign-ins of an account, a renewal under way included. */
  async signOut(accountId: string): Promise<void> {
    this.#deps.renewals?.supersede(accountId);
    await this.#deps.store.delete(grantKey(accountId), { tell: true });
    await this.#signIns.forget(accountId);
  }

  /** The account was deleted, and what it was granted is of no use to anybody. */
  async delete(accountId: string): Promise<void> {
    // In this order: a sign-in that comes back now is either seen by the second or sees the first.
    await this.#signIns.delete(accountId).catch(() => undefined);
    this.#deps.renewals?.supersede(accountId);
    await this.#deps.store.delete(grantKey(accountId), { insist: true, tell: true });
  }
}

const unwanted = () =>
  new PrintingError(
    'INVALID_INPUT',
    phrase`The account was changed or deleted in the meantime: open it and start the sign-in again.`,
  );
