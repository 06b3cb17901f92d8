import { createHash, randomBytes } from 'node:crypto';
import type { Request, Response } from 'express';

/**
 * A cookie for each sign-in binds it to the browser that began it: else a user who may begin sign-ins could have the
 * owner approve one. It goes to the callback alone, and to no script. `SameSite=Lax`: the redirect comes from another site.
 */
const nameOf = (state: string) => `remote-printing-sign-in-${state.slice(0, 16)}`;

/** A little longer than a sign-in lasts, so that a late redirect is called late. */
const LASTS = 15 * 60;

const hash = (value: string) => createHash('sha256').update(value).digest('base64url');

/** A value for the browser that begins a sign-in, and the hash that stays here. */
export function newBrowserValue(): { value: string; hash: string } {
  const value = randomBytes(32).toString('base64url');
  return { value, hash: hash(value) };
}

export function setBrowserCookie(
  request: Request,
  response: Response,
  { authorizeUrl, redirectUri, value }: { authorizeUrl: string; redirectUri: string; value: string },
): void {
  const state = new URL(authorizeUrl).searchParams.get('state') ?? '';
  // A proxy may show the callback under another path than Node-RED has it, or lead from the one to the other.
  const own = `${(request.originalUrl.split('?')[0] ?? '').replace(/\/remote-printing\/accounts\/.*$/s, '')}/remote-printing/callback`;
  const paths = new Set([new URL(redirectUri).pathname, own].filter((path) => /^\/[\x21-\x3a\x3c-\x7e]*$/.test(path)));
  // Behind a proxy only the page's own origin shows whether the browser uses https.
  const secure = request.get('origin')?.startsWith('https://') ? '; Secure' : '';
  for (const path of paths)
    response.append(
      'Set-Cookie',
      `${nameOf(state)}=${value}; Path=${path}; Max-Age=${LASTS}; HttpOnly; SameSite=Lax${secure}`,
    );
}

/**
 * The hash of the value that this browser has kept of a sign-in; null for none. Undefined for a program, which keeps no
 * cookies: the service redirects an owner's approval to a browser only, and every browser calls itself Mozilla.
 */
export function browserHashOf(request: Request, state: string): string | null | undefined {
  if (!(request.get('user-agent') ?? '').startsWith('Mozilla/')) return undefined;
  const name = nameOf(state);
  for (const pair of (request.get('cookie') ?? '').split(';')) {
    const [key = '', value = ''] = pair.trim().split('=');
    if (key === name && value !== '') return hash(value);
  }
  return null;
}
