import { createHash, randomBytes } from 'node:crypto';
import type { Request, Response } from 'express';
import type { NodeAPI } from 'node-red';
import { readRedirect, readSignIn } from '../../../lib/account/settings';
import { hostOf } from '../../../lib/rules/addresses';
import { asPrintingError, PrintingError } from '../../../lib/service/errors';
import { record, text } from '../../../lib/service/json-readers';
import { phrase, type Sentence } from '../../../lib/words/sentence';
import { inLanguage, languageOf } from '../language';
import { runtimeOf } from '../runtime';
import { stateOf } from './account';
import { deployedAccount, deployedIdentity, signInConfig, UnknownAccount, wantedBy } from './accounts';
import { handle, idOf } from './handle';

/** The endpoints that begin, complete and delete sign-ins (reference 5). */
export function signInEndpoints(RED: NodeAPI) {
  const runtime = () => runtimeOf(RED);
  const publish = (id: string, state: string) => RED.comms.publish(`remote-printing/accounts/${id}`, { state }, false);

  const finish = async (
    query: URLSearchParams,
    from: { accountId: string } | { browser: string | null | undefined },
  ) => {
    const isWanted = wantedBy(RED);
    const accountId = await runtime().authorization.complete(query, { ...from, isWanted });
    const watching = runtime().watching.get(accountId);
    // The service asked the former sign-in for a pause.
    if (watching) watching.pausedUntil = -Infinity;
    // Running accounts use the new sign-in at once; an account with incomplete settings uses it after its deploy.
    for (const node of deployedAccount(RED, accountId)?.running ?? []) {
      const client = await node.client().catch(() => undefined);
      await client?.credentials.reload();
    }
    publish(accountId, 'signed-in');
  };

  return {
    begin: handle(async (request, response) => {
      const id = idOf(request);
      const typed = record(request.body) ?? {};
      const deployed = deployedAccount(RED, id);
      if (!deployed && Object.keys(typed).length === 0) throw new UnknownAccount();
      const config = signInConfig(typed, deployed);
      // The deployed host takes precedence: the tokens of a deployed account go to no other host.
      const apiUrl = hostOf(deployed?.config.apiUrl) || hostOf(config.apiUrl);
      const settings = { ...readSignIn(config), apiUrl };
      const redirectUri = readRedirect(config.redirectUri);
      const organizationId = text(config.organizationId) ?? '';
      const browser = newBrowserValue();
      const authorizeUrl = await runtime().authorization.begin({
        accountId: id,
        settings,
        redirectUri,
        organizationId,
        browser: browser.hash,
        deployed: deployedIdentity(RED, id),
      });
      setBrowserCookie(request, response, { authorizeUrl, redirectUri, value: browser.value });
      return { authorizeUrl, redirectUri };
    }),

    callback: (request: Request, response: Response): void => {
      response.set(callbackPage.headers);
      // Some browsers send a HEAD request first (wire facts 3), which must not use up the state.
      if (request.method === 'HEAD') {
        response.status(200).end();
        return;
      }
      const language = languageOf(request);
      const query = new URL(request.originalUrl, 'http://localhost').searchParams;
      finish(query, { browser: browserHashOf(request, query.get('state') ?? '') }).then(
        () => response.status(200).send(callbackPage.done(language)),
        (thrown: unknown) => response.status(400).send(callbackPage.failed(language, asPrintingError(thrown).sentence)),
      );
    },

    complete: handle(async (request) => {
      const id = idOf(request);
      // An account that isn't deployed exists only by its sign-in, pending or complete.
      await stateOf(RED, id);
      await finish(pastedQuery(request.body), { accountId: id });
      return stateOf(RED, id);
    }),

    signOut: handle(async (request) => {
      const id = idOf(request);
      const state = await stateOf(RED, id);
      await runtime().authorization.signOut(id);
      const deployed = deployedAccount(RED, id);
      for (const node of deployed?.running ?? []) {
        const client = await node.client().catch(() => undefined);
        await client?.credentials.signOut();
      }
      publish(id, 'signed-out');
      return deployed ? stateOf(RED, id) : { ...state, state: 'signed-out', user: null, expiresAt: null };
    }),
  };
}

/** Returns the query of the pasted address, on which a sign-in ended. Throws INVALID_INPUT for any other body. */
export function pastedQuery(body: unknown): URLSearchParams {
  const pasted = text(record(body)?.url)?.trim() ?? '';
  const refuse = (why: Sentence) => new PrintingError('INVALID_INPUT', why);
  if (pasted === '') throw refuse(phrase`Paste the address of the page that the sign-in ended on.`);
  if (!/^https?:/i.test(pasted) || !URL.canParse(pasted))
    throw refuse(
      phrase`The pasted text is not an address: paste the whole address of the page that the sign-in ended on.`,
    );
  const { searchParams: query } = new URL(pasted);
  if (!['code', 'error', 'error_code'].some((name) => query.get(name)))
    throw refuse(phrase`The pasted address has no code in it: paste the one of the page that the sign-in ended on.`);
  if (!query.get('state'))
    throw refuse(phrase`The pasted address names no sign-in: paste the whole one, up to its end.`);
  return query;
}

/** The page at the end of a sign-in. It is static except for one escaped sentence, and has no script. */
export const callbackPage = {
  headers: {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  },
  done: (language: string): string =>
    page(language, phrase`Signed in`, phrase`You can close this window and return to Node-RED.`),
  failed: (language: string, reason: Sentence): string => page(language, phrase`Not signed in`, reason),
};

function page(language: string, title: Sentence, sentence: Sentence): string {
  const [shownTitle, shownSentence] = [title, sentence].map((words) => escape(inLanguage(language, words)));
  return `<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><title>${shownTitle}</title>
<style>:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem;text-align:center}</style></head>
<body><h1>${shownTitle}</h1><p>${shownSentence}</p></body>
</html>
`;
}

const escape = (words: string): string => words.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);

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
