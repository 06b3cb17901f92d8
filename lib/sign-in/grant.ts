import { TEXT } from '../rules/limits';
import { Sentence } from '../words/sentence';
import { record, text, type Json } from '../service/json-readers';

/** A sign-in as it stands in the state store (sealed): what the service granted, and for whom. */
export interface Grant {
  authUrl: string;
  clientId: string;
  /** The redirect address of this sign-in; every refresh must name the same (interface, Authentication 4). */
  redirectUri: string;
  accessToken: string;
  refreshToken: string | null;
  /** Milliseconds since 1970. */
  expiresAt: number;
  /** Milliseconds from arrival to expiry. */
  lifetime: number;
  scope: string | null;
  /** The API host that was set when the user signed in, where that is known: before a deploy, its tokens go there alone. */
  apiUrl?: string | undefined;
  /**
   * Claims of the access token about its user; kept when the tokens have ended. The workspace is that of the sign-in: no
   * refreshed token changes it.
   */
  holder?: Holder;
  /** How often it was renewed, by whichever runtime. */
  refreshes?: number;
  /** When the user signed in, milliseconds since 1970: refreshes leave it as it is. */
  signedInAt?: number;
  /** Why the sign-in has ended, in English: the tokens are gone, only the name of the user is kept. */
  ended?: string;
}

/** Where and as whom an account signs in. */
export interface SignInSettings {
  authUrl: string;
  clientId: string;
  clientSecret: string;
  /** Space-delimited. */
  scope: string;
  /** The API host that is signed in for, where that is known. */
  apiUrl?: string;
  /** The service is the pack's own simulator: its address says nothing, it changes with every start. */
  simulated?: boolean;
}

/** Why a sign-in has ended; null while it has not. */
export const whyEnded = ({ ended }: Grant): Sentence | null => (ended === undefined ? null : new Sentence(ended));

/** All sign-ins of an account, one for each service: trying another leaves this one alone, and coming back finds it. */
export interface Grants {
  byService: Record<string, Grant>;
}

export const grantKey = (accountId: string) => ['grant', accountId] as const;

/** In place of the account host of the pack's own simulator. */
const SIMULATED = 'simulated';

export const serviceOf = ({ authUrl, simulated }: SignInSettings): string => (simulated ? SIMULATED : authUrl);

/** By service; a sign-in that was stored alone, before there were several, is that of its own host. */
function all(stored: Grants | undefined): Record<string, Grant> {
  if (stored && 'accessToken' in stored) return { [(stored as unknown as Grant).authUrl]: stored as unknown as Grant };
  return stored?.byService ?? {};
}

/** The newest sign-in at a real service. */
export const newestGrant = (stored: Grants | undefined): Grant | undefined =>
  Object.entries(all(stored))
    .filter(([service]) => service !== SIMULATED)
    .map(([, grant]) => grant)
    .sort((a, b) => (b.signedInAt ?? 0) - (a.signedInAt ?? 0))[0];

/** The sign-in at this account host, for whichever client application. */
export const grantAt = (stored: Grants | undefined, authUrl: string): Grant | undefined => {
  const grants = all(stored);
  return authUrl !== SIMULATED && Object.hasOwn(grants, authUrl) ? grants[authUrl] : undefined;
};

/** The account's sign-in at this service, if it was made for the same client application. */
export function grantFor(stored: Grants | undefined, settings: SignInSettings): Grant | undefined {
  const grant = all(stored)[serviceOf(settings)];
  return grant?.clientId === settings.clientId ? grant : undefined;
}

/**
 * Whether `grant` is a later state of the same sign-in than `stored`: a database that failed over may have lost the last
 * renewals. Nothing is later than a sign-in that has ended or was replaced.
 */
export const isLater = (grant: Grant | undefined, stored: Grant | undefined): grant is Grant =>
  grant !== undefined &&
  stored !== undefined &&
  Boolean(grant.signedInAt) &&
  grant.signedInAt === stored.signedInAt &&
  grant.ended === undefined &&
  stored.ended === undefined &&
  (grant.refreshes ?? 0) > (stored.refreshes ?? 0);

/** All sign-ins, with this one in its place; without it where `grant` is undefined. Undefined where none is left. */
export function withGrant(
  stored: Grants | undefined,
  settings: SignInSettings,
  grant: Grant | undefined,
): Grants | undefined {
  const { [serviceOf(settings)]: _, ...others } = all(stored);
  const byService = grant ? { ...others, [serviceOf(settings)]: grant } : others;
  return Object.keys(byService).length > 0 ? { byService } : undefined;
}

/** Who a grant is for, from its own memory or its token. */
export function holderOf({ holder, accessToken }: Grant): Holder {
  const { user, organizationId } = holder ?? readToken(accessToken);
  return { user, organizationId };
}

type Holder = Pick<TokenHolder, 'user' | 'organizationId'>;

/** What an access token tells of its user (wire facts 3). Read, never trusted: the service checks the token itself. */
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

/** From its own `iat` to its `exp`, ms: no clock of ours has a part in it. Null where the token doesn't say. */
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
