import { hash, timingSafeEqual } from 'node:crypto';
import { pipeline } from 'node:stream/promises';
import type { RequestHandler, Response } from 'express';
import type { NodeAPI } from 'node-red';
import { FORMATS, type TextFormat } from '../../../lib/metrics/exposition';
import { scrape, type ShownAccount } from '../../../lib/metrics/scrape';
import { nextTurn } from '../../../lib/time/concurrency';
import type { MetricsAccess } from '../account-link';
import { runtimeOf } from '../runtime';

type Open = ShownAccount & Pick<MetricsAccess, 'tokens'>;

/**
 * The endpoint that Prometheus reads (reference 5). A token shows the accounts that it belongs to. Without one, Node-RED's
 * adminAuth decides. Where Node-RED has none, only accounts without a token are shown.
 */
export function metricsEndpoint(RED: NodeAPI): RequestHandler {
  const canRead = RED.auth.needsPermission('remote-printing.read') as RequestHandler;
  const { adminAuth } = RED.settings as { adminAuth?: unknown };
  return (request, response, next) => {
    const open = openAccounts(RED);
    if (open.length === 0) return void response.sendStatus(404);
    const format: TextFormat =
      request.accepts(Object.values(FORMATS)) === FORMATS.openmetrics ? 'openmetrics' : 'prometheus';
    const answer = (accounts: Open[]) => void send(response, accounts, format).catch(() => response.destroy());
    const bearer = /^bearer +(\S+)$/i.exec(request.get('authorization') ?? '')?.[1];
    const own = bearer === undefined ? [] : open.filter(({ tokens }) => tokens?.some((token) => isSame(token, bearer)));
    if (own.length > 0) return answer(own);
    canRead(request, response, (error?: unknown) => {
      if (error) return next(error);
      const shown = adminAuth ? open : open.filter(({ tokens }) => tokens === null);
      // A wrong token must not look like a right one that shows less.
      const isWrong = !adminAuth && bearer !== undefined && shown.length < open.length;
      if (shown.length > 0 && !isWrong) return answer(shown);
      response.set('WWW-Authenticate', 'Bearer').sendStatus(401);
    });
  };
}

/** Running accounts with metrics, each once: an account in a subflow has several instances. */
function openAccounts(RED: NodeAPI): Open[] {
  const open = new Map<string, Open>();
  for (const { accountId, name, metrics } of runtimeOf(RED).accounts)
    if (metrics) open.set(accountId, { ...metrics, metrics: metrics.counted, name: name ?? '' });
  return [...open.values()];
}

/** Compares digests, in the same time whatever the difference. */
const isSame = (token: string, given: string): boolean => timingSafeEqual(digest(token), digest(given));
const digest = (text: string): Buffer => hash('sha256', text, 'buffer');

/** Sends the text piece by piece, as fast as the client reads it. */
function send(response: Response, accounts: readonly Open[], format: TextFormat): Promise<void> {
  response.set({ 'Content-Type': `${FORMATS[format]}; charset=utf-8`, 'Cache-Control': 'no-store' });
  return pipeline(turning(scrape(accounts, format)), response);
}

/** Lets the event loop turn after each piece. */
async function* turning(pieces: Iterable<string>): AsyncGenerator<string, void> {
  for (const piece of pieces) {
    yield piece;
    await nextTurn();
  }
}
