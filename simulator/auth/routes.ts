import { signInPage, workspacePage, consentPage } from './pages';
import { AuthorizeFlows, type Flow } from './authorize-flows';
import { readForm } from '../http/bodies';
import { Refusal } from '../http/refusals';
import { secret } from '../world/secrets';
import type { Answer, Call, Route } from '../http/server';
import type { Organization, User } from '../world/state';
import { wireOrganization, type Client, type Tokens } from './tokens';
import { uptimeRoute } from '../http/uptime';

export interface AuthParts {
  tokens: Tokens;
  users: User[];
  organizations: Organization[];
  client: Client;
  autoApprove: boolean;
  lenient: boolean;
  now: () => number;
  /** Format of the current user's workspaces (wire facts 11). */
  memberships: () => 'ids' | 'objects';
}

/** Routes of the account host: sign-in pages, token endpoint and current user (calls 1, 2 and 16). */
export function authRoutes(parts: AuthParts): Route[] {
  const { tokens, users, organizations, client } = parts;
  const flows = new AuthorizeFlows(client, parts.now, parts.lenient);

  const step = (path: string, handle: (flow: Flow, form: Record<string, string>) => Answer): Route => ({
    endpoint: 'authorize',
    method: 'POST',
    path: `/authorize/${path}`,
    errors: 'html',
    async handle(call) {
      const form = await readForm(call);
      return handle(flows.get(form.flow ?? ''), form);
    },
  });

  /** Returns the next page of the sign-in; the consent page is the last. */
  const nextPage = (flow: Flow): Answer => {
    const { user } = flow;
    if (!user) return htmlPage(signInPage(flow.id, users));
    const own = organizations.filter(({ organizationId }) => user.organizationIds.includes(organizationId));
    const workspace = flow.organizationId
      ? own.find(({ organizationId }) => organizationId === flow.organizationId)
      : own.length === 1
        ? own[0]
        : undefined;
    if (flow.organizationId && !workspace)
      throw new Refusal(403, 'forbidden', 'This user does not belong to the requested workspace.');
    if (!workspace) return htmlPage(workspacePage(flow.id, own));
    flow.organizationId = workspace.organizationId;
    const about = { client: client.id, user: user.name, workspace: workspace.organizationName, scope: flow.scope };
    return htmlPage(consentPage(flow.id, about));
  };

  const approve = (flow: Flow, userId: string, organizationId: string): Answer => {
    flows.end(flow);
    const { redirectUri, scope, challenge } = flow;
    return redirect(flow, { code: tokens.grant({ userId, organizationId, redirectUri, scope, challenge }) });
  };

  const signedIn = (endpoint: string, path: string, handle: (call: Call) => unknown): Route => ({
    endpoint,
    method: 'GET',
    path,
    handle: (call) => ({ status: 200, json: { data: handle(call) } }),
  });

  return [
    uptimeRoute('/', parts.now),
    {
      endpoint: 'authorize',
      method: 'GET',
      path: '/authorize',
      errors: 'html',
      handle({ query }) {
        const flow = flows.begin(query, secret());
        if (!parts.autoApprove) return nextPage(flow);
        const user = users.find(
          ({ organizationIds }) => !flow.organizationId || organizationIds.includes(flow.organizationId),
        );
        if (!user) throw new Refusal(403, 'forbidden', 'No user belongs to the requested workspace.');
        return approve(flow, user.userId, flow.organizationId ?? user.organizationIds[0]!);
      },
    },
    step('sign-in', (flow, { username, password }) => {
      const user = users.find((other) => other.username === username && other.password === password);
      if (!user) return htmlPage(signInPage(flow.id, users, 'The user name or the password is wrong.'));
      flow.user = user;
      return nextPage(flow);
    }),
    step('workspace', (flow, { organization_id: organizationId }) => {
      if (organizationId) flow.organizationId = organizationId;
      return nextPage(flow);
    }),
    step('consent', (flow, { decision }) => {
      const { user, organizationId } = flow;
      if (!user || !organizationId) return nextPage(flow);
      if (decision === 'approve') return approve(flow, user.userId, organizationId);
      flows.end(flow);
      // The service answers `error_code` instead of the usual `error=access_denied` (wire facts 3).
      return redirect(flow, { error_code: 'user_denied' });
    }),
    {
      endpoint: 'token',
      method: 'POST',
      path: '/token',
      errors: 'oauth',
      handle: async (call) => ({ status: 200, json: tokens.request(await readForm(call)) }),
    },
    signedIn('currentUser', '/users/current', ({ request }) => {
      const caller = tokens.caller(request.headers.authorization);
      const user = users.find(({ userId }) => userId === caller.userId)!;
      const organization = organizations.find(({ organizationId }) => organizationId === caller.organizationId)!;
      return {
        user_id: user.userId,
        username: user.username,
        name: user.name,
        organization_id: organization.organizationId,
        organization: wireOrganization(organization),
        organization_memberships:
          parts.memberships() === 'ids' ? user.organizationIds : memberships(user, organizations),
      };
    }),
    signedIn('checkToken', '/check-token', ({ request }) => tokens.caller(request.headers.authorization).claims),
  ];
}

const memberships = (user: User, organizations: Organization[]): unknown =>
  organizations
    .filter(({ organizationId }) => user.organizationIds.includes(organizationId))
    .map(({ organizationId, organizationName }) => ({ id: organizationId, name: organizationName, role: 'member' }));

const htmlPage = (text: string): Answer => ({
  status: 200,
  headers: { 'content-type': 'text/html; charset=utf-8', 'x-frame-options': 'DENY' },
  text,
});

function redirect(flow: Flow, values: Record<string, string>): Answer {
  const address = new URL(flow.redirectUri);
  for (const [name, value] of Object.entries({ ...values, state: flow.state })) address.searchParams.set(name, value);
  return { status: 302, headers: { location: address.href } };
}
