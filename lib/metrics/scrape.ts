import { ACCOUNT_FAMILIES, type ScrapedAccount } from './account-families';
import { endOf, headerOf, type TextFormat } from './exposition';
import { PRINTER_FAMILIES } from './printer-families';
import { QUEUE_FAMILIES, QUEUE_PRINTER_FAMILIES } from './queue-families';

/** An account to show, with its name for people. */
export type ShownAccount = Omit<ScrapedAccount, 'state' | 'now'>;

/** Printers per piece: a few milliseconds of work. */
const PIECE = 1_000;

/** Writes the metrics of accounts, in pieces, so that the event loop can turn between them. */
export function* scrape(accounts: readonly ShownAccount[], format: TextFormat): Generator<string, void> {
  const scraped = accounts.map((account): ScrapedAccount => {
    const { metrics } = account;
    return { ...account, state: metrics.state(), now: metrics.clock.monotonic() };
  });
  for (const family of ACCOUNT_FAMILIES)
    yield headerOf(family, format) + scraped.map((account) => family.samples(account, family.name)).join('');
  for (const family of PRINTER_FAMILIES) {
    yield headerOf(family, format);
    for (const { state, now } of scraped)
      yield* inPieces(state.printers, (printer) => family.samples(printer, family.name, now));
  }
  const queues = scraped.flatMap(({ state }) => state.queues);
  for (const family of QUEUE_FAMILIES)
    yield headerOf(family, format) + queues.map((queue) => family.samples(queue, family.name)).join('');
  for (const family of QUEUE_PRINTER_FAMILIES) {
    yield headerOf(family, format);
    for (const { printers } of queues) yield* inPieces(printers, (printer) => family.samples(printer, family.name));
  }
  yield endOf(format);
}

function* inPieces<T>(all: readonly T[], samplesOf: (one: T) => string): Generator<string, void> {
  for (let at = 0; at < all.length; at += PIECE)
    yield all
      .slice(at, at + PIECE)
      .map(samplesOf)
      .join('');
}
