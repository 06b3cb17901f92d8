import { createHash, randomBytes } from 'node:crypto';
import type { Request, Response } from 'express';

/**
 * A cookie per sign-in binds it to the browser that began it. Otherwise a user with access to sign-ins could have the
 * owner approve one. The cookie is sent to the callback only and hidden from scripts. `SameSite=Lax`, since the
 * redirect comes from another site.
 */
const cookieNameOf = (state: string) => `remote-printing-sign-in-${state.slice(0, 16)}`;

/** Lifetime in seconds: slightly longer than a sign-in, so that a late redirect gets the right error. */
const LASTS = 15 * 60;

const hash = (value: string) => createHash('sha256').update(value).digest('base64url');

/** Creates a value for the browser that begins a sign-in, and its hash for the server. */
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
  // A proxy may publish the callback under another path than Node-RED's, or redirect between the two.
  const own = `${(request.originalUrl.split('?')[0] ?? '').replace(/\/remote-printing\/accounts\/.*$/s, '')}/remote-printing/callback`;
  const paths = new Set([new URL(redirectUri).pathname, own].filter((path) => /^\/[\x21-\x3a\x3c-\x7e]*$/.test(path)));
  // Behind a proxy, only the page's origin shows whether the browser uses https.
  const secure = request.get('origin')?.startsWith('https://') ? '; Secure' : '';
  for (const path of paths)
    response.append(
      'Set-Cookie',
      `${cookieNameOf(state)}=${value}; Path=${path}; Max-Age=${LASTS}; HttpOnly; SameSite=Lax${secure}`,
    );
}

/**
 * Returns the hash of this browser's cookie for a sign-in; null without a cookie. Undefined for a program, which keeps
 * no cookies: the service redirects an owner's approval to a browser only, and every browser calls itself Mozilla.
 */
export function browserHashOf(request: Request, state: string): string | null | undefined {
  if (!(request.get('user-agent') ?? '').startsWith('Mozilla/')) return undefined;
  const [, rest = ''] = `; ${request.get('cookie') ?? ''}`.split(`; ${cookieNameOf(state)}=`, 2);
  const [value = ''] = rest.split(';', 1);
  return value === '' ? null : hash(value);
}
