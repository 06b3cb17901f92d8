import type { NodeAPI } from 'node-red';
import type { Request, Response } from 'express';
import { readRedirect, readSignIn } from '../../../lib/account/settings';
import { asPrintingError, PrintingError } from '../../../lib/service/errors';
import { record, text } from '../../../lib/service/json-readers';
import { callbackPage } from './callback-page';
import { languageOf } from '../language';
import { runtimeOf } from '../runtime';
import { deployedAccount, UnknownAccount } from './accounts';
import { browserHashOf, newBrowserValue, setBrowserCookie } from './browser-cookie';
import { handle, idOf } from './handle';
import { stateOf } from './state';
import { hostOf, signInConfig } from './typed-settings';
import { deployedIdentity, wantedBy } from './wanted';
import { phrase, type Sentence } from '../../../lib/words/sentence';

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
