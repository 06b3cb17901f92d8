import type { Answer, Call, Route } from '../http/server';
import type { SignedUrls } from '../storage/signed-urls';
import type { User } from '../world/state';
import type { Caller, Tokens } from '../auth/tokens';
import type { World } from '../world/world';

export interface ApiParts {
  world: World;
  tokens: Tokens;
  urls: SignedUrls;
  users: User[];
  apiUrl: () => string;
  storageUrl: () => string;
  /** Prefix of the storage and library calls. */
  storagePath: string;
  /** Whether it accepts what real clients were seen to send, beyond the interface. */
  lenient: boolean;
  now: () => number;
}

/** Implements a route of the API host; returns `undefined` for an answer without body. */
export type Handler = (call: Call, caller: Caller) => unknown;

export type SignedIn = (endpoint: string, method: string, path: string, handle: Handler, status?: number) => Route;

/** Returns a function that creates routes with a required bearer token. */
export function signedInRoutes(tokens: Tokens): SignedIn {
  return (endpoint, method, path, handle, status = 200) => ({
    endpoint,
    method,
    path,
    async handle(call) {
      const caller = tokens.caller(call.request.headers.authorization);
      const json = await handle(call, caller);
      return { status, ...(json === undefined ? {} : { json }) } satisfies Answer;
    },
  });
}
