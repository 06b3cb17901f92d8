import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type OidcProvider from 'oidc-provider';

export interface OAuthServer {
  authUrl: string;
  clientId: string;
  clientSecret: string;
  /** Number of granted refreshes. */
  readonly refreshes: number;
  close(): Promise<void>;
}

/**
 * A standards-conforming OAuth server (the npm package oidc-provider) with one client and one user who consents to
 * everything. Refresh tokens rotate with each use; reuse revokes the grant.
 */
export async function startOAuthServer(redirectUri: string, scopes: string[]): Promise<OAuthServer> {
  const { default: Provider } = await import('oidc-provider');
  const server = createServer();
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const authUrl = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  const client = { id: 'pack', secret: 'a-secret-of-the-client-that-is-long-enough' };
  const provider: OidcProvider = new Provider(authUrl, {
    clients: [
      {
        client_id: client.id,
        client_secret: client.secret,
        redirect_uris: [redirectUri],
        grant_types: ['authorization_code', 'refresh_token'],
        response_types: ['code'],
        token_endpoint_auth_method: 'client_secret_post',
      },
    ],
    scopes: ['openid', ...scopes],
    routes: { authorization: '/authorize', token: '/token' },
    pkce: { required: () => false },
    cookies: { keys: ['only for this test'] },
    features: { devInteractions: { enabled: false } },
    interactions: { url: (_, interaction) => `/interaction/${interaction.uid}` },
    issueRefreshToken: () => true,
    rotateRefreshToken: true,
    ttl: { AccessToken: 600, RefreshToken: 3600, Interaction: 600, Session: 600, Grant: 3600 },
    findAccount: (_, id) => ({ accountId: id, claims: () => ({ sub: id }) }),
    loadExistingGrant: async (context) => {
      const grant = new provider.Grant({
        clientId: context.oidc.client?.clientId ?? '',
        accountId: context.oidc.session?.accountId ?? '',
      });
      grant.addOIDCScope(scopes.join(' '));
      await grant.save();
      return grant;
    },
  });
  let refreshes = 0;
  provider.on('grant.success', (context) => {
    if ((context.oidc.params as { grant_type?: string } | undefined)?.grant_type === 'refresh_token') refreshes++;
  });
  const answer = provider.callback();
  server.on('request', (request, response) => {
    if (!request.url?.startsWith('/interaction/')) return void answer(request, response);
    provider.interactionFinished(request, response, { login: { accountId: 'ada' } }).catch((error: unknown) => {
      response.writeHead(500).end(String(error));
    });
  });
  return {
    authUrl,
    clientId: client.id,
    clientSecret: client.secret,
    get refreshes() {
      return refreshes;
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}
