import { record, text, type Json } from '../service/wire';

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
  /** Set when the service ended the sign-in: the tokens are gone, only the name of the user is kept. */
  ended?: string;
}

/** Where and as whom an account signs in. */
export interface SignInSettings {
  authUrl: string;
  clientId: string;
  clientSecret: string;
  /** Space-delimited. */
  scope: string;
}

export const grantKey = (accountId: string) => ['grant', accountId] as const;

/** A grant is only good for the service and the client application that it was given to. */
export const belongsTo = (grant: Grant, settings: SignInSettings): boolean =>
  grant.authUrl === settings.authUrl && grant.clientId === settings.clientId;

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

function decode(token: string): Json | null {
  try {
    return record(JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString('utf8')));
  } catch {
    return null;
  }
}
