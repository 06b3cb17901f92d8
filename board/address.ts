// The page's address: it holds the search, and the printer that is shown alone.
import { set } from './state';

export const FILTERS = ['q', 'state', 'printer', 'order', 'owner'] as const;
export type Search = Record<(typeof FILTERS)[number], string>;

const query = (): URLSearchParams => new URLSearchParams(location.search);

export function search(): Search {
  const found = query();
  const get = (name: string) => found.get(name) ?? '';
  return { q: get('q'), state: get('state'), printer: get('printer'), order: get('order'), owner: get('owner') };
}

export const isSearching = (): boolean => FILTERS.some((name) => query().has(name));

export function setSearch(changes: Partial<Search>): void {
  const changed = query();
  for (const [name, value] of Object.entries(changes))
    if (value) changed.set(name, value);
    else changed.delete(name);
  show(changed, true);
}

/** Id of the printer that is shown alone; null: the whole board. */
export const openPrinter = (): string | null => query().get('open');

/** Address of the printer alone, and of the whole board. */
export function addressOf(printer: string | null): string {
  const changed = query();
  if (printer === null) changed.delete('open');
  else changed.set('open', printer);
  const text = changed.toString();
  return text === '' ? './' : `?${text}`;
}

export function go(event: MouseEvent, printer: string | null): void {
  if (event.ctrlKey || event.metaKey || event.shiftKey || event.button !== 0) return;
  event.preventDefault();
  history.pushState(null, '', addressOf(printer));
  set({});
}

function show(changed: URLSearchParams, isReplacing: boolean): void {
  const text = changed.toString();
  const address = text === '' ? './' : `?${text}`;
  if (isReplacing) history.replaceState(null, '', address);
  else history.pushState(null, '', address);
  set({});
}

window.addEventListener('popstate', () => set({}));
