import { asPrintingError, PrintingError } from '../service/errors';
import type { StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import { Deadline } from '../time/deadline';
import { phrase, type Sentence } from '../words/sentence';
import { notSaved } from './credentials';
import { grantFor, grantKey, signedOut, withGrant, type Grants } from './grant';
import { PendingAuthorizations, type Beginning, type IsWanted, type Known } from './pending-authorizations';
import type { RefreshesUnderWay } from './refresh';
import type { TokenEndpoint } from './token-endpoint';

export type { Beginning, IsWanted } from './pending-authorizations';

interface AuthorizationDeps {
  store: StateStore;
  /** Store for pending sign-ins. Every runtime on this store can complete them. */
  signIns: StateStore;
  clock: Clock;
  endpoint: TokenEndpoint;
  /** Refreshes under way in this process. A new sign-in or a sign-out cancels those of its account. */
  refreshesUnderWay?: RefreshesUnderWay;
  warn?: (sentence: Sentence) => void;
}

interface Completing {
  /** The account that must own the sign-in. Undefined: any account. */
  accountId?: string | undefined;
  /**
   * SHA-256 of the value that the redirected browser has kept; null if the browser has no such value. Undefined: skip the
   * check, because a user who may sign the account in pastes the address, whichever browser it is from.
   */
  browser?: string | null | undefined;
  /** Default: always wanted. */
  isWanted?: IsWanted;
}

/** Longest exchange of the code for tokens, ms. */
const LONGEST_EXCHANGE = 60_000;

/** Sign-in flow from the authorize address to the redirect back (interface, Authentication 1 to 6). */
export class Authorization {
  readonly #signIns: PendingAuthorizations;

  constructor(private readonly deps: AuthorizationDeps) {
    this.#signIns = new PendingAuthorizations(deps.signIns, deps.clock);
  }

  /** Begins a sign-in. Returns the address to send the user's browser to. */
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
    // The interface wants spaces as %20; URLSearchParams writes them as plus signs.
    const parameters = Object.entries(query).map(([name, value]) => `${name}=${encodeURIComponent(value)}`);
    return `${settings.authUrl}/authorize?${parameters.join('&')}`;
  }

  /**
   * Completes the sign-in that `query` (of the redirect) belongs to: stores the grant and returns the id of its
   * account. Warns if the grant can't be written yet.
   * @throws PrintingError INVALID_INPUT for a state that is unknown, used, expired or another account's; for an account
   *   that was changed or deleted; and for a browser other than the one that began. A wrong browser leaves the state
   *   valid. Neither a wrong browser nor an invalid state reaches the service. FORBIDDEN when the user refused.
   *   Otherwise the error of the token endpoint.
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
      // If the end can't be recorded now, the pending sign-in expires soon.
      this.#signIns.end(state, why).catch(() => undefined);
    try {
      if (!beginning) throw unwanted();
      await this.#grant(state, beginning, query, isWanted);
    } catch (error) {
      // Report no failure for an account that was changed or deleted.
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
    const { store, clock, endpoint, refreshesUnderWay } = this.deps;
    const deadline = new Deadline(clock, { ms: LONGEST_EXCHANGE, cure: phrase`start the sign-in again` });
    const grant = await endpoint.exchange(settings, code, redirectUri, deadline).finally(() => deadline.end());
    const addGrant = async (stored: Grants | undefined) => {
      // Check under the lock: if the account is deleted now, by any runtime, no grant is stored afterwards.
      if (!isWanted(beginning) || (await this.#signIns.isDeleted(state))) throw unwanted();
      return withGrant(stored, settings, grant);
    };
    refreshesUnderWay?.cancel(accountId, settings);
    const key = grantKey(accountId);
    try {
      await store.update<Grants>(key, addGrant, { insist: true, notify: true });
    } catch (error) {
      // The code is spent, so continue with a grant that the store has in memory. It writes it as soon as it can.
      const kept = grantFor(await store.get<Grants>(key).catch(() => undefined), settings);
      if (kept?.accessToken !== grant.accessToken) throw error;
      this.deps.warn?.(notSaved);
    }
  }

  /** Progress of this account's sign-ins. Rejects while the store can't be read. */
  known(accountId: string, isWanted: IsWanted = () => true): Promise<Known> {
    return this.#signIns.known(accountId, isWanted);
  }

  /** Deletes all tokens of an account and cancels its refresh under way. */
  async signOut(accountId: string): Promise<void> {
    const { store, refreshesUnderWay } = this.deps;
    refreshesUnderWay?.cancel(accountId);
    const key = grantKey(accountId);
    await store
      .update<Grants>(key, (stored) => signedOut(stored), { notify: true })
      // A record that can't be read, or replaced on a full disk, can still be deleted.
      .catch(() => store.delete(key, { notify: true }));
    await this.#signIns.forget(accountId);
  }

  /** Deletes everything that the deleted account was granted. */
  async delete(accountId: string): Promise<void> {
    // The order matters. If a pending sign-in comes back now, either it sees the deletion or the second step deletes
    // its grant.
    await this.#signIns.delete(accountId).catch(() => undefined);
    this.deps.refreshesUnderWay?.cancel(accountId);
    await this.deps.store.delete(grantKey(accountId), { insist: true, notify: true });
  }
}

const unwanted = () =>
  new PrintingError(
    'INVALID_INPUT',
    phrase`The account was changed or deleted in the meantime: open it and start the sign-in again.`,
  );
