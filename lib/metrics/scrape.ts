import { ACCOUNT_FAMILIES, type ScrapedAccount } from './account-families';
import { endOf, headerOf, type TextFormat } from './exposition';
import { PRINTER_FAMILIES } from './printer-families';

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
      for (let at = 0; at < state.printers.length; at += PIECE)
        yield state.printers
          .slice(at, at + PIECE)
          .map((printer) => family.samples(printer, family.name, now))
          .join('');
  }
  yield endOf(format);
}
