import { signJwt, verifyJwt } from './jwt';
import { fitsChallenge } from './pkce';
import { Refusal } from '../http/refusals';
import { same, secret } from '../world/secrets';
import type { AccessState, Challenge, Grant, Organization, User } from '../world/state';

export interface Client {
  id: string;
  secret: string;
  /** Registered redirect URIs; any by default. */
  redirectUris?: string[];
}

/** A user's consent. */
export interface GrantRequest {
  userId: string;
  organizationId: string;
  redirectUri: string;
  scope: string;
  challenge?: Challenge | null;
}

/** Body of a successful answer of the token endpoint (interface, Token response). */
export interface TokenResponse {
  token_type: 'bearer';
  access_token: string;
  refresh_token: string;
  expires_in: number;
  scope: string;
}

/** The caller that a valid bearer token identifies. */
export interface Caller {
  userId: string;
  organizationId: string;
  /** Claims of the JWT; for a static token, the applicable ones. */
  claims: Record<string, unknown>;
}

const CODE_LIFETIME = 60_000;
const SPENT_KEPT = 1000;
const GRANTS_KEPT = 200;

/**
 * Codes, grants, access and refresh tokens. Each refresh token works once; reuse ends the whole sign-in (wire facts 3),
 * unless `refreshGrace` allows it.
 */
export class Tokens {
  /** Time at which a refresh token was first used, for the period of grace. Not stored: a restart ends every period. */
  private readonly firstUsed = new Map<string, number>();

  constructor(
    private readonly state: AccessState,
    private readonly people: { users: User[]; organizations: Organization[] },
    private readonly client: Client,
    /** Lifetime of new access tokens, s. */
    public lifetime: number,
    private readonly now: () => number,
    private readonly changed: () => void,
    /** Whether public clients and short refreshes are accepted, as observed (wire facts 3). */
    private readonly lenient = false,
  ) {}

  /** Number of exchanged codes. */
  get exchanges(): number {
    return this.state.exchanges;
  }

  /** Number of successful refreshes. */
  get refreshes(): number {
    return this.state.refreshes;
  }

  /** Number of reused refresh tokens and codes. */
  get reuseDetections(): number {
    return this.state.reuseDetections;
  }

  /** Valid refresh tokens, oldest sign-in first. */
  get refreshTokens(): string[] {
    return this.state.grants.flatMap(({ revoked, refreshToken }) =>
      revoked || refreshToken === null ? [] : refreshToken,
    );
  }

  /** Time of the last answer with tokens, ms since 1970; null without one. */
  get lastAnswerAt(): number | null {
    return this.state.lastAnswerAt;
  }

  /**
   * Status for an expired access token: 401 as in the interface, or 403 `tokenExpired` as observed (wire facts 15.1).
   */
  get expiredStatus(): 401 | 403 {
    return this.state.expiredStatus;
  }

  set expiredStatus(status: 401 | 403) {
    this.state.expiredStatus = status;
    this.changed();
  }

  /**
   * Seconds for which a refresh token still works after its first use, as some services allow for lost answers; Infinity
   * for a service without reuse detection. Default 0.
   */
  get refreshGrace(): number {
    const { refreshGrace = 0 } = this.state;
    return refreshGrace ?? Infinity;
  }

  set refreshGrace(seconds: number) {
    this.state.refreshGrace = seconds === Infinity ? null : seconds;
    this.changed();
  }

  /** Expires all access tokens issued so far. */
  expireAccessTokens(): void {
    this.state.expiredBelow = this.state.nextToken;
    this.changed();
  }

  /** Revokes all sign-ins with their tokens. Static API tokens remain valid. */
  revokeGrants(): void {
    for (const grant of this.state.grants) grant.revoked = true;
    this.changed();
  }

  /** Signs a user in without the pages; returns the tokens. */
  signIn(request: GrantRequest): TokenResponse {
    const code = this.grant(request);
    return this.answer(this.useCode(this.grantOfCode(code)));
  }

  /** Records a user's consent; returns the code for the redirect. */
  grant(request: GrantRequest): string {
    const grant: Grant = {
      grantId: secret(),
      clientId: this.client.id,
      redirectUri: request.redirectUri,
      scope: request.scope,
      userId: request.userId,
      organizationId: request.organizationId,
      code: secret(),
      codeExpiresAt: this.now() + CODE_LIFETIME,
      codeUsed: false,
      challenge: request.challenge ?? null,
      refreshToken: null,
      spentRefreshTokens: [],
      revoked: false,
    };
    const { state } = this;
    state.grants.push(grant);
    if (state.grants.length > GRANTS_KEPT) state.grants.splice(0, state.grants.length - GRANTS_KEPT);
    this.changed();
    return grant.code;
  }

  /** POST /token: returns the tokens for a form, or throws the endpoint's refusal. */
  request(form: Record<string, string>): TokenResponse {
    const field = (name: string): string => {
      const value = form[name];
      if (!value) throw new Refusal(400, 'invalid_request', `${name} is missing.`);
      return value;
    };
    const type = form.grant_type;
    const optional = (name: string, lenient: boolean): string | undefined =>
      lenient && !form[name] ? undefined : field(name);
    const clientId = field('client_id');
    const clientSecret = optional('client_secret', this.lenient);
    if (clientId !== this.client.id || (clientSecret !== undefined && !same(clientSecret, this.client.secret)))
      throw invalidClient();
    const short = this.lenient && type === 'refresh_token';
    const redirectUri = optional('redirect_uri', short);
    const scope = optional('scope', short);
    field('grant_type');
    const grant =
      type === 'authorization_code'
        ? this.grantOfCode(field('code'))
        : type === 'refresh_token'
          ? this.grantOfRefreshToken(field('refresh_token'))
          : undefined;
    if (!grant) throw new Refusal(400, 'unsupported_grant_type', 'The grant type is not supported.');
    // A client without a secret is a public one, which has proved itself by PKCE.
    if (clientSecret === undefined && !grant.challenge) throw invalidClient();
    if (redirectUri !== undefined && grant.redirectUri !== redirectUri)
      throw invalidGrant('redirect_uri is not the one of the authorization.');
    const granted = words(grant.scope);
    if (scope !== undefined && !words(scope).every((word) => granted.includes(word)))
      throw new Refusal(400, 'invalid_scope', 'scope asks for more than was granted.');
    if (type === 'refresh_token') {
      this.state.refreshes++;
      return this.answer(grant);
    }
    checkVerifier(grant, form.code_verifier);
    this.state.exchanges++;
    return this.answer(this.useCode(grant));
  }

  /** Returns the caller behind an Authorization header; throws the API's refusal for an invalid one. */
  caller(authorization: string | undefined): Caller {
    if (authorization === undefined) throw new Refusal(401, 'noBearerToken', 'The Authorization header is missing.');
    const token = /^Bearer (\S+)$/.exec(authorization)?.[1];
    const caller = token === undefined ? undefined : (this.staticCaller(token) ?? this.grantCaller(token));
    if (!caller) throw new Refusal(401, 'invalidToken', 'The access token is not acceptable.');
    return caller;
  }

  private staticCaller(token: string): Caller | undefined {
    for (const { userId, apiTokens } of this.people.users)
      for (const { token: own, organizationId } of apiTokens)
        if (same(token, own)) return { userId, organizationId, claims: this.userClaims(userId, organizationId) };
    return undefined;
  }

  private grantCaller(token: string): Caller | undefined {
    const claims = verifyJwt(token, this.state.signingKey);
    const grant = claims && this.state.grants.find(({ grantId }) => grantId === claims.grant);
    if (!claims || !grant || grant.revoked) return undefined;
    if (Number(claims.exp) * 1000 <= this.now() || Number(claims.serial) < this.state.expiredBelow)
      throw new Refusal(this.state.expiredStatus, 'tokenExpired', 'The access token has expired.', {
        detail: 'Signature has expired',
      });
    return { userId: grant.userId, organizationId: grant.organizationId, claims };
  }

  private grantOfCode(code: string): Grant {
    const grant = this.state.grants.find((other) => same(other.code, code));
    if (!grant || grant.revoked) throw invalidGrant('The code is unknown.');
    if (grant.codeUsed) {
      this.reused(grant);
      throw invalidGrant('The code was used before: the sign-in has ended.');
    }
    if (grant.codeExpiresAt <= this.now()) throw invalidGrant('The code has expired.');
    return grant;
  }

  private grantOfRefreshToken(token: string): Grant {
    for (const grant of this.state.grants) {
      if (grant.revoked) continue;
      if (grant.refreshToken !== null && same(grant.refreshToken, token)) return grant;
      if (grant.spentRefreshTokens.includes(token)) {
        if (this.isInGrace(token)) return grant;
        this.reused(grant);
        throw invalidGrant('The refresh token was used before: the sign-in has ended.');
      }
    }
    throw invalidGrant('The refresh token is unknown.');
  }

  private isInGrace(token: string): boolean {
    const usedAt = this.firstUsed.get(token) ?? -Infinity;
    return this.refreshGrace === Infinity || this.now() - usedAt < this.refreshGrace * 1000;
  }

  private reused(grant: Grant): void {
    grant.revoked = true;
    this.state.reuseDetections++;
    this.changed();
  }

  private useCode(grant: Grant): Grant {
    grant.codeUsed = true;
    return grant;
  }

  private answer(grant: Grant): TokenResponse {
    if (grant.refreshToken !== null) this.firstUsed.set(grant.refreshToken, this.now());
    if (grant.refreshToken !== null)
      grant.spentRefreshTokens = [...grant.spentRefreshTokens, grant.refreshToken].slice(-SPENT_KEPT);
    grant.refreshToken = secret();
    const seconds = Math.floor(this.now() / 1000);
    this.state.lastAnswerAt = this.now();
    this.changed();
    return {
      token_type: 'bearer',
      access_token: signJwt(
        {
          ...this.userClaims(grant.userId, grant.organizationId),
          client_id: grant.clientId,
          scopes: words(grant.scope),
          iat: seconds,
          exp: seconds + this.lifetime,
          grant: grant.grantId,
          serial: this.state.nextToken++,
        },
        this.state.signingKey,
      ),
      refresh_token: grant.refreshToken,
      expires_in: this.lifetime,
      scope: grant.scope,
    };
  }

  private userClaims(userId: string, organizationId: string): Record<string, unknown> {
    const user = this.people.users.find((other) => other.userId === userId);
    const organization = this.people.organizations.find((other) => other.organizationId === organizationId);
    return { user_id: userId, username: user?.username, organization: organization && wireOrganization(organization) };
  }
}

export const wireOrganization = ({ organizationId, organizationName }: Organization): Record<string, string> => ({
  organization_id: organizationId,
  organization_name: organizationName,
});

const words = (text: string): string[] => text.split(' ').filter((word) => word !== '');

const invalidClient = (): Refusal =>
  new Refusal(401, 'invalid_client', 'The client is unknown, or its secret is wrong.');

const invalidGrant = (text: string): Refusal => new Refusal(400, 'invalid_grant', text);

/** Checks the PKCE verifier if the authorization had a challenge. */
function checkVerifier({ challenge }: Grant, verifier: string | undefined): void {
  if (!challenge) return;
  if (!verifier) throw new Refusal(400, 'invalid_request', 'code_verifier is missing.');
  if (!fitsChallenge(challenge, verifier)) throw invalidGrant('code_verifier does not fit the challenge.');
}
