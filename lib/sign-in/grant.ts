import { TEXT } from '../rules/limits';
import { type Json, record, text } from '../service/json-readers';
import type { Key, StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import { underDeadline } from '../time/deadline';
import { Sentence } from '../words/sentence';

/** A sign-in as the state store has it (sealed): the tokens that the service granted, and their user. */
export interface Grant {
  authUrl: string;
  clientId: string;
  /** Redirect address of this sign-in. Every refresh must send the same one (interface, Authentication 4). */
  redirectUri: string;
  accessToken: string;
  refreshToken: string | null;
  /** Milliseconds since 1970. */
  expiresAt: number;
  /** Milliseconds from arrival to expiry. */
  lifetime: number;
  scope: string | null;
  /** Scope that the sign-in asked for, which every refresh repeats: a wider one would be refused. Missing in early grants. */
  askedScope?: string | undefined;
  /**
   * The API host at the time of the sign-in, if known. Until the account is deployed, its tokens are sent to that host
   * only.
   */
  apiUrl?: string | undefined;
  /**
   * User claims of the access token, kept after the tokens have ended. The workspace is that of the sign-in; no
   * refreshed token changes it.
   */
  holder?: Holder;
  /** Number of refreshes, by any runtime. */
  refreshes?: number;
  /** Time of the sign-in, milliseconds since 1970. Refreshes don't change it. */
  signedInAt?: number;
  /** Why the sign-in has ended, in English. An ended sign-in has no tokens; only the name of its user is kept. */
  ended?: string;
  /** A person has signed out. Only the workspace is kept: the account's state belongs to it. */
  signedOut?: true;
}

/** Where and with which client an account signs in. */
export interface SignInSettings {
  authUrl: string;
  clientId: string;
  clientSecret: string;
  /** Space-delimited. */
  scope: string;
  /** The API host that the sign-in is for, if known. */
  apiUrl?: string;
  /** The service is the pack's own simulator. Its address identifies nothing, because it changes with every start. */
  simulated?: boolean;
}

/** Why a sign-in has ended; null while it is valid. */
export const whyEnded = ({ ended }: Grant): Sentence | null => (ended === undefined ? null : new Sentence(ended));

/**
 * All sign-ins of an account, one per service. Signing in to another service leaves this one alone, so switching back
 * finds it.
 */
export interface Grants {
  byService: Record<string, Grant>;
}

/** Whether a stored value has the shape of an account's sign-ins. */
export function isGrants(value: unknown): value is Grants {
  const byService = record(record(value)?.byService);
  return byService !== null && Object.values(byService).every(isGrant);
}

function isGrant(value: unknown): boolean {
  const { clientId, redirectUri, accessToken, refreshToken, expiresAt, lifetime, holder, ended } = record(value) ?? {};
  return (
    [clientId, redirectUri, accessToken, refreshToken ?? '', ended ?? ''].every((one) => typeof one === 'string') &&
    [expiresAt, lifetime].every((one) => typeof one === 'number') &&
    (holder === undefined || record(holder) !== null)
  );
}

export const grantKey = (accountId: string) => ['grant', accountId] as const;

/** Key of the pack's own simulator, in place of its account host. */
const SIMULATED = 'simulated';

export const serviceOf = ({ authUrl, simulated }: SignInSettings): string => (simulated ? SIMULATED : authUrl);

/** The newest sign-in at a real service. */
export const newestGrant = (stored: Grants | undefined): Grant | undefined =>
  Object.entries(stored?.byService ?? {})
    .filter(([service, { signedOut }]) => service !== SIMULATED && !signedOut)
    .map(([, grant]) => grant)
    .sort((a, b) => (b.signedInAt ?? 0) - (a.signedInAt ?? 0))[0];

/** The sign-in at this account host, for any client application. */
export const grantAt = (stored: Grants | undefined, authUrl: string): Grant | undefined => {
  const grants = stored?.byService ?? {};
  const grant = authUrl !== SIMULATED && Object.hasOwn(grants, authUrl) ? grants[authUrl] : undefined;
  return grant?.signedOut ? undefined : grant;
};

/** The account's sign-in at this service, if it was made for the same client application. */
export function grantFor(stored: Grants | undefined, settings: SignInSettings): Grant | undefined {
  const grant = stored?.byService[serviceOf(settings)];
  return grant?.clientId === settings.clientId ? grant : undefined;
}

/**
 * Whether `grant` is a later state of the same sign-in than `stored`, since a failover of the database may lose the
 * last refreshes. No grant is later than a sign-in that has ended or was replaced.
 */
export const isLater = (grant: Grant | undefined, stored: Grant | undefined): grant is Grant =>
  grant !== undefined &&
  stored !== undefined &&
  Boolean(grant.signedInAt) &&
  grant.signedInAt === stored.signedInAt &&
  grant.ended === undefined &&
  stored.ended === undefined &&
  (grant.refreshes ?? 0) > (stored.refreshes ?? 0);

/** Replaces one sign-in and keeps the others. */
export const withGrant = (stored: Grants | undefined, settings: SignInSettings, grant: Grant): Grants => ({
  byService: { ...stored?.byService, [serviceOf(settings)]: grant },
});

/** Signs out at this service, or at all services: of each sign-in only the workspace and its client are left. */
export function signedOut(stored: Grants | undefined, settings?: SignInSettings): Grants | undefined {
  if (!stored) return undefined;
  const isMeant = (service: string) => !settings || service === serviceOf(settings);
  const byService = Object.entries(stored.byService).map(([service, grant]) => [
    service,
    isMeant(service) ? remainderOf(grant) : grant,
  ]);
  return { byService: Object.fromEntries(byService) as Record<string, Grant> };
}

const remainderOf = (grant: Grant): Grant => ({
  ...{ authUrl: grant.authUrl, clientId: grant.clientId, redirectUri: '', scope: null },
  ...{ accessToken: '', refreshToken: null, expiresAt: 0, lifetime: 0 },
  ...{ holder: { user: null, organizationId: holderOf(grant).organizationId }, signedOut: true },
});

/** The user of a grant, from its stored claims or its token. */
export function holderOf({ holder, accessToken }: Grant): Holder {
  const { user, organizationId } = holder ?? readToken(accessToken);
  return { user, organizationId };
}

type Holder = Pick<TokenHolder, 'user' | 'organizationId'>;

/** User claims of an access token (wire facts 3). They are read, never trusted: the service checks the token itself. */
export interface TokenHolder {
  user: string | null;
  organizationId: string | null;
  /** Milliseconds since 1970, from the token's own `exp`. */
  expiresAt: number | null;
}

export function readToken(accessToken: string): TokenHolder {
  const claims = decode(accessToken);
  const exp = claims?.exp;
  return {
    user: text(claims?.username) ?? text(claims?.name) ?? text(claims?.user_id) ?? text(claims?.sub),
    organizationId: text(record(claims?.organization)?.organization_id),
    expiresAt: typeof exp === 'number' ? exp * 1000 : null,
  };
}

/** Lifetime from the token's `iat` to its `exp`, ms, independent of the local clock. Null if the token lacks them. */
export function lifetimeIn(accessToken: string): number | null {
  const { exp, iat } = decode(accessToken) ?? {};
  return typeof exp === 'number' && typeof iat === 'number' ? (exp - iat) * 1000 : null;
}

function decode(token: string): Json | null {
  if (token.length > TEXT.field) return null;
  try {
    return record(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')));
  } catch {
    return null;
  }
}

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
   * so is harmless. An earlier instance in the middle of a slow refresh may hold the lock for minutes.
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

  /** Restores refreshes that the store has lost in a failover; otherwise a runtime would reuse a spent token. */
  async writeBack(own: Grant): Promise<Grant | undefined> {
    const { store, settings } = this.#options;
    const newer = (stored: Grants | undefined) =>
      isLater(own, grantFor(stored, settings)) ? withGrant(stored, settings, own) : stored;
    return grantFor(await store.update<Grants>(this.#key, newer, { insist: true, notify: true }), settings);
  }

  async signOut(): Promise<void> {
    const { store, settings } = this.#options;
    await store.update<Grants>(this.#key, (stored) => signedOut(stored, settings), { notify: true });
  }
}
