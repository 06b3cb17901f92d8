import { Refusal } from '../http/refusals';
import type { Challenge, User } from '../world/state';
import type { Client } from './tokens';

/** One user's authorization, from /authorize to the redirect back to the client. */
export interface Flow {
  id: string;
  redirectUri: string;
  scope: string;
  state: string;
  challenge: Challenge | null;
  organizationId?: string;
  user?: User;
  expiresAt: number;
}

const LIFETIME = 10 * 60_000;
const MOST_FLOWS = 1000;
/** Address of a client on the user's machine, accepted for registered clients (wire facts 3). */
const LOCAL_CALLBACK = /^http:\/\/localhost:\d{1,5}\/callback$/;

/** Pending authorizations; they don't survive a restart. */
export class AuthorizeFlows {
  private readonly flows = new Map<string, Flow>();

  constructor(
    private readonly client: Client,
    private readonly now: () => number,
    private readonly lenient: boolean,
  ) {}

  /** Checks the query of /authorize (interface, Authentication 1). */
  begin(query: URLSearchParams, id: string): Flow {
    const value = (name: string): string => {
      const values = query.getAll(name);
      if (values.length > 1) throw bad(`${name} was sent twice.`);
      if (!values[0]) throw bad(`${name} is missing.`);
      return values[0];
    };
    if (value('client_id') !== this.client.id) throw bad('The client is not known.');
    const redirectUri = value('redirect_uri');
    if (!this.allowed(redirectUri)) throw bad('redirect_uri is not a registered address of this client.');
    if (value('response_type') !== 'code') throw bad('response_type must be code.');
    const flow: Flow = {
      id,
      redirectUri,
      scope: value('scope'),
      state: value('state'),
      challenge: challengeOf(query),
      expiresAt: this.now() + LIFETIME,
    };
    const organizationId = query.get('organization_id');
    if (organizationId) flow.organizationId = organizationId;
    this.flows.set(id, flow);
    for (const oldest of this.flows.keys()) {
      if (this.flows.size <= MOST_FLOWS) break;
      this.flows.delete(oldest);
    }
    return flow;
  }

  get(id: string): Flow {
    const flow = this.flows.get(id);
    if (!flow || flow.expiresAt <= this.now())
      throw new Refusal(400, 'badRequest', 'This sign-in has expired or has ended: start it again.');
    return flow;
  }

  end(flow: Flow): void {
    this.flows.delete(flow.id);
  }

  private allowed(redirectUri: string): boolean {
    const listed = this.client.redirectUris;
    if (this.lenient && LOCAL_CALLBACK.test(redirectUri)) return true;
    if (listed) return listed.includes(redirectUri);
    return URL.canParse(redirectUri) && /^https?:/.test(redirectUri) && !redirectUri.includes('#');
  }
}

function challengeOf(query: URLSearchParams): Challenge | null {
  const value = query.get('code_challenge');
  const method = query.get('code_challenge_method');
  if (value === null && method === null) return null;
  if (!value) throw bad('code_challenge is missing.');
  if (method !== 'S256' && method !== 'S512') throw bad('code_challenge_method must be S256 or S512.');
  return { value, method };
}

const bad = (text: string): Refusal => new Refusal(400, 'badRequest', 'The sign-in can not start.', { detail: text });
