import { endOf, type Family, headerOf, type TextFormat } from './exposition';
import {
  ACCOUNT_FAMILIES,
  PRINTER_FAMILIES,
  QUEUE_FAMILIES,
  QUEUE_PRINTER_FAMILIES,
  type ScrapedAccount,
} from './families';

/** An account to show, with its name for people. */
export type ShownAccount = Omit<ScrapedAccount, 'state'>;

/** Samples of one metric per piece: a few milliseconds of work. */
const PIECE = 1_000;

/** Writes the metrics of accounts, in pieces, so that the event loop can turn between them. */
export function* scrape(accounts: readonly ShownAccount[], format: TextFormat): Generator<string, void> {
  // All accounts have the same clock.
  const now = accounts[0]?.metrics.clock.monotonic() ?? 0;
  const scraped = accounts.map((account): ScrapedAccount => ({ ...account, state: account.metrics.state() }));
  const queues = scraped.flatMap(({ state }) => state.queues);
  yield* write(ACCOUNT_FAMILIES, scraped);
  yield* write(
    PRINTER_FAMILIES,
    scraped.flatMap(({ state }) => state.printers),
  );
  yield* write(QUEUE_FAMILIES, queues);
  yield* write(
    QUEUE_PRINTER_FAMILIES,
    queues.flatMap(({ printers }) => printers),
  );
  yield endOf(format);

  function* write<T>(families: readonly Family<T>[], all: readonly T[]): Generator<string, void> {
    for (const family of families) {
      yield headerOf(family, format);
      for (let at = 0; at < all.length; at += PIECE)
        yield all
          .slice(at, at + PIECE)
          .map((one) => family.samples(one, now))
          .join('');
    }
  }
}
