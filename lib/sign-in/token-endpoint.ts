import type { Http, TextRequest } from '../http/http';
import { isLoopback } from '../rules/addresses';
import { LONGEST_LIFETIME } from '../rules/limits';
import { PrintingError, readRetryAfter, refusalError, revised } from '../service/errors';
import { type Json, number, record, text } from '../service/json-readers';
import type { StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import type { Deadline } from '../time/deadline';
import { phrase } from '../words/sentence';
import { type Grant, holderOf, lifetimeIn, readToken, type SignInSettings } from './grant';

/** Documented lifetime (wire facts 3), for an answer without a lifetime: 10 minutes. */
const DEFAULT = 600_000;

/**
 * Lifetime of an access token, ms: the first valid one of `candidates`, up to a limit. Without a valid one, the
 * documented lifetime.
 */
export function lifetimeOf(...candidates: (number | null | undefined)[]): number {
  const lifetime = candidates.find((one) => typeof one === 'number' && one >= 0);
  return Math.min(lifetime ?? DEFAULT, LONGEST_LIFETIME);
}

/**
 * Remaining lifetime of a token that was read, ms. `expiresAt` uses the wall clock of the runtime that wrote it, so it
 * means nothing here if several runtimes share the store. Each of them follows refreshes at once, and an expired token
 * costs one refused call.
 */
export function remainingLifetime(
  grant: Grant | undefined,
  { store, clock }: { store: StateStore; clock: Clock },
): number {
  if (!grant) return 0;
  const lifetime = lifetimeOf(grant.lifetime);
  return store.join ? lifetime : Math.min(lifetime, grant.expiresAt - clock.now());
}

type Library = typeof import('oauth4webapi');

let loading: Promise<Library> | undefined;

/** Returns the library, loaded at its first use: an ES module, which only `import` loads. A failure is not kept. */
export const oauthLibrary = (): Promise<Library> =>
  (loading ??= import('oauth4webapi').catch((error: unknown) => {
    loading = undefined;
    throw error;
  }));

/** Fields of the form that are secret. */
const SECRET = ['client_secret', 'refresh_token', 'code', 'code_verifier'];

interface TokenRequest extends Omit<TextRequest, 'method'> {
  deadline: Deadline;
  /** The token that is replaced; blank for a new sign-in. */
  accessToken: string;
}

/**
 * The token endpoint (interface, endpoint 2). Sends all fields of the interface in the form body, including the secret.
 */
export class TokenEndpoint {
  constructor(
    private readonly http: Http,
    private readonly clock: Clock,
  ) {}

  /** Exchanges the authorization code of a redirect for tokens. */
  async exchange(settings: SignInSettings, code: string, redirectUri: string, deadline: Deadline): Promise<Grant> {
    const oauth = await oauthLibrary();
    const { server, client, secret, options } = await this.#prepare(settings, { deadline, accessToken: '' });
    const state = 'checked-by-the-caller';
    const callback = oauth.validateAuthResponse(server, client, new URLSearchParams({ code, state }), state);
    const response = await oauth.authorizationCodeGrantRequest(
      server,
      client,
      secret,
      callback,
      redirectUri,
      // The interface has no PKCE, and the service's variant isn't the standard's (wire facts 3).
      // oxlint-disable-next-line typescript/no-deprecated
      oauth.nopkce,
      { ...options, additionalParameters: { scope: settings.scope } },
    );
    const { apiUrl, scope: askedScope } = settings;
    const begun = { redirectUri, refreshToken: null, signedInAt: this.clock.now(), apiUrl, askedScope };
    return this.#grant(settings, begun, readToken, () =>
      oauth.processAuthorizationCodeResponse(server, client, response),
    );
  }

  /**
   * Exchanges the refresh token for a new pair. The old one is spent from here on, whatever the outcome. The workspace
   * stays that of the sign-in, and so does the user if the new token names none.
   * @param deadline the only limit: the endpoint may be silent until then
   * @param fence called when the request is about to leave; if it throws, the request isn't sent
   * @throws IncompleteAnswer if the answer has a new refresh token only
   */
  async refresh(settings: SignInSettings, grant: Grant, deadline: Deadline, fence?: () => void): Promise<Grant> {
    const oauth = await oauthLibrary();
    const { server, client, secret, options } = await this.#prepare(settings, {
      deadline,
      accessToken: grant.accessToken,
      fence,
    });
    const response = await oauth.refreshTokenGrantRequest(server, client, secret, grant.refreshToken ?? '', {
      ...options,
      additionalParameters: { redirect_uri: grant.redirectUri, scope: grant.askedScope ?? settings.scope },
    });
    const { user, organizationId } = holderOf(grant);
    const holder = (token: string) => ({ user: readToken(token).user ?? user, organizationId });
    const rotated = text(record(await response.clone().json())?.refresh_token);
    return this.#grant(settings, grant, holder, () =>
      oauth.processRefreshTokenResponse(server, client, response),
    ).catch((error: unknown) => {
      throw rotated ? new IncompleteAnswer(rotated) : error;
    });
  }

  async #prepare(settings: SignInSettings, { deadline, accessToken, fence }: Omit<TokenRequest, 'url'>) {
    const oauth = await oauthLibrary();
    const endpoint = `${settings.authUrl}/token`;
    return {
      server: { issuer: settings.authUrl, token_endpoint: endpoint },
      client: { client_id: settings.clientId },
      secret: oauth.ClientSecretPost(settings.clientSecret),
      options: {
        [oauth.customFetch]: (_: string, init: { headers: Record<string, string>; body?: unknown }) =>
          this.#post({ url: endpoint, headers: init.headers, body: String(init.body), deadline, accessToken, fence }),
        // oxlint-disable-next-line typescript/no-deprecated -- only for this machine itself, as the reference allows
        [oauth.allowInsecureRequests]: isLoopback(settings.authUrl),
      },
    };
  }

  /** Sends the form. Throws a refusal as the error that flows see, which must not quote the secrets of the request. */
  async #post({ accessToken, ...request }: TokenRequest): Promise<Response> {
    const quiet = request.deadline.remaining();
    const answer = await this.http.text({ method: 'POST', ...request, quiet, lasting: true });
    const parsed = record(answer.body);
    const retryAfter = readRetryAfter(answer.headers, this.clock.now());
    const form = new URLSearchParams(request.body);
    const secrets = [...SECRET.map((name) => form.get(name) ?? ''), accessToken];
    if (answer.status < 200 || answer.status > 299)
      throw refused(refusalError(answer.status, parsed, phrase`the sign-in`, { retryAfter, secrets }));
    if (!parsed) throw unexpected();
    return Response.json(tolerated(parsed), { status: 200 });
  }

  async #grant(
    settings: SignInSettings,
    kept: Pick<Grant, 'redirectUri' | 'refreshToken' | 'signedInAt' | 'apiUrl' | 'askedScope'>,
    holderIn: (accessToken: string) => ReturnType<typeof holderOf>,
    read: () => Promise<{ access_token: string; refresh_token?: string; expires_in?: number; scope?: string }>,
  ): Promise<Grant> {
    const tokens = await read().catch((cause: unknown) => {
      throw unexpected(cause);
    });
    const now = this.clock.now();
    const { user, organizationId } = holderIn(tokens.access_token);
    const token = tokens.access_token;
    const declared = tokens.expires_in === undefined ? null : tokens.expires_in * 1000;
    const left = (readToken(token).expiresAt ?? 0) - now;
    // A new token has not expired: where it seems so, the clock of this machine is wrong.
    const lifetime = lifetimeOf(declared, lifetimeIn(token), left > 0 ? left : null);
    return {
      authUrl: settings.authUrl,
      clientId: settings.clientId,
      redirectUri: kept.redirectUri,
      accessToken: tokens.access_token,
      refreshToken: tokens.refresh_token ?? kept.refreshToken,
      expiresAt: now + lifetime,
      lifetime,
      scope: tokens.scope ?? null,
      holder: { user, organizationId },
      signedInAt: kept.signedInAt ?? 0,
      ...(kept.apiUrl && { apiUrl: kept.apiUrl }),
      ...(kept.askedScope !== undefined && { askedScope: kept.askedScope }),
    };
  }
}

/** Explains `invalid_client`: the user entered a wrong client ID or secret. */
const refused = (error: PrintingError): PrintingError =>
  error.serviceCode === 'invalid_client'
    ? revised(error, { sentence: phrase`Client ID or secret is wrong (invalid_client): correct them in the account.` })
    : error;

/** Normalizes the fields in use to the strict form that the library requires. The pack requests no ID token. */
function tolerated(body: Json): Json {
  const kept: Json = { access_token: text(body.access_token), token_type: text(body.token_type) ?? 'bearer' };
  const refreshToken = text(body.refresh_token);
  const lifetime = number(body.expires_in);
  const scope = text(body.scope);
  if (refreshToken) kept.refresh_token = refreshToken;
  if (lifetime !== null && lifetime >= 0) kept.expires_in = lifetime;
  if (scope) kept.scope = scope;
  return kept;
}

/** The answer to a refresh that has a new refresh token but no usable access token. */
export class IncompleteAnswer extends PrintingError {
  // Private, so that no log shows it.
  readonly #refreshToken: string;

  constructor(refreshToken: string) {
    const { code, sentence, outcome } = unexpected();
    super(code, sentence, { outcome });
    this.#refreshToken = refreshToken;
  }

  get refreshToken(): string {
    return this.#refreshToken;
  }
}

/** Names the cause instead of carrying it: the cause may contain the answer, and with it the tokens. */
const unexpected = (cause?: unknown): PrintingError =>
  new PrintingError(
    'SERVICE_ERROR',
    phrase`The account host gave an unexpected answer to the sign-in: check the account host.`,
    { outcome: 'unknown', cause: cause instanceof Error ? new Error(cause.name) : undefined },
  );
