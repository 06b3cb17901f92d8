import type { Turns } from '../time/concurrency';
import { Sentence } from '../words/sentence';
import {
  type Answer,
  type AnswerKind,
  type BoardItem,
  type BoardPrinter,
  type BoardState,
  type Change,
  type Facts,
  type Need,
  type Notice,
  type Section,
  SECTIONS,
  type Values,
} from './shapes';

/** Open items that every page gets; the others are read on demand. */
export const SHOWN_ITEMS = 200;

/** Contents of a board at one moment. */
export interface BoardView {
  facts: Facts;
  state: BoardState<Sentence>;
  notices: readonly Notice[];
}

/** A view in one language, as the JSON of its entries and values. */
export interface Document {
  values: ReadonlyMap<keyof Values, string>;
  sections: Readonly<Record<Section, ReadonlyMap<string, string>>>;
}

export type Translate = (sentence: Sentence) => string;

/**
 * Lets the event loop turn meanwhile.
 * @param translate renders a sentence in the language of the document
 * @param known JSON of the entries of earlier documents of this language: the same object has the same JSON
 */
export async function documentOf(
  { facts, state, notices }: BoardView,
  translate: Translate,
  turns: Turns,
  known = new WeakMap<object, string>(),
): Promise<Document> {
  const needed = new Set(state.todo.map(({ itemId }) => itemId));
  const open = state.items.filter(isOpen);
  const first = new Set(open.slice(0, SHOWN_ITEMS));
  const shown = state.items.filter((item) => first.has(item) || needed.has(item.itemId));
  const short = state.forecast?.materials?.filter(({ shortAt }) => shortAt !== null) ?? [];
  const inWords = (_: string, value: unknown): unknown => (value instanceof Sentence ? translate(value) : value);
  const json = (value: unknown): string => JSON.stringify(value, inWords);
  const entryJson = <T extends object>(entry: T, pick: (entry: T) => object): string => {
    const before = known.get(entry);
    if (before !== undefined) return before;
    const made = json(pick(entry));
    known.set(entry, made);
    return made;
  };
  const entries = async <T extends object>(
    all: readonly T[],
    idOf: (entry: T) => string,
    pick: (entry: T) => object,
  ) => {
    const section = new Map<string, string>();
    for (const entry of all) {
      await turns.next();
      section.set(idOf(entry), entryJson(entry, pick));
    }
    return section;
  };
  const whole = <T extends object>(entry: T): T => entry;
  // Its age would change with every forecast, even an equal one.
  const forecast = state.forecast && { prints: planned(state, shown) };
  const values = new Map<keyof Values, string>([
    ['facts', json(facts)],
    ['counts', json(state.counts)],
    ['open', json(open.length)],
    ['endedAt', json(lastEnd(state.items))],
    ['forecast', json(forecast)],
  ]);
  const sections = {
    printers: await entries(state.printers, printerId, shownPrinter),
    items: await entries(shown, ({ itemId }) => itemId, shownItem),
    orders: await entries(state.orders, ({ orderId }) => orderId, whole),
    todo: await entries(
      state.todo,
      ({ id }) => id,
      (need) => shownNeed(need, short),
    ),
    notices: await entries(notices, ({ id }) => id, whole),
  };
  return { values, sections };
}

/** Id of a printer on the page. */
export const printerId = ({ clusterId, printerId: own }: { clusterId: string; printerId: string | null }): string =>
  own === null ? clusterId : `${clusterId} ${own}`;

export const isOpen = ({ state }: Pick<BoardItem<unknown>, 'state'>): boolean =>
  state !== 'finished' && state !== 'cancelled' && state !== 'failed';

/** Time of the last end of a print, ISO 8601; null if none has ended. */
function lastEnd(items: readonly BoardItem<Sentence>[]): string | null {
  let last: string | null = null;
  for (const { prints } of items)
    for (const { endedAt } of prints) if (endedAt !== null && (last === null || endedAt > last)) last = endedAt;
  return last;
}

function shownPrinter(printer: BoardPrinter<Sentence>): BoardPrinter<Sentence> {
  const { clusterId, printerId: own, clusterName, printerName, state, sentence, job, progress, endAt } = printer;
  const { pictureAt, next, materials, plate, paused, current, seenAt = null } = printer;
  return {
    ...{ clusterId, printerId: own, clusterName, printerName, state, sentence, progress, endAt },
    job: job && { clusterJobId: job.clusterJobId, name: job.name, state: job.state },
    ...{ pictureAt, next, materials, plate, paused, current, seenAt },
  };
}

/** An item without its prints, of which it may have thousands. */
export function shownItem(item: BoardItem<Sentence>): BoardItem<Sentence> {
  const { itemId, name, orderId, owner, state, held, priority, position, createdAt, deadline, endedAt } = item;
  const { copies, parts = null, estimate, eta, sentence } = item;
  const { total, waiting, active, good, failed, held: heldCopies } = copies;
  return {
    ...{ itemId, name, orderId, owner, state, held, priority, position, createdAt, deadline, endedAt },
    ...{ copies: { total, waiting, active, good, failed, held: heldCopies }, parts },
    ...{ estimate: { seconds: estimate.seconds, cost: estimate.cost }, eta, prints: [], sentence },
  };
}

type Shortages = NonNullable<NonNullable<BoardState<Sentence>['forecast']>['materials']>;

/** Labels of the answers of a queue, in English, and what the page calls them. */
const KINDS: Readonly<Record<string, AnswerKind>> = {
  ...{ Good: 'good', Bad: 'bad', Clear: 'clear', 'It printed': 'printed', 'It did not print': 'notPrinted' },
  ...{ 'Print anyway': 'printAnyway', Remove: 'remove', Again: 'again' },
};

/** A need with what its page names it and its answers by. */
function shownNeed(need: Need<Sentence>, short: Shortages): Need<Sentence> {
  const answers = need.answers.map((answer): Answer<Sentence> => {
    const { label, action, properties } = answer;
    const kind = KINDS[label.pattern] ?? (action === 'update' ? 'printOn' : undefined);
    return { label, action, properties, ...(kind && { kind }) };
  });
  const { id, kind, text, clusterId, printerId: own, itemId, since } = need;
  const shown = { id, kind, text, clusterId, printerId: own, itemId, since, answers };
  return kind === 'material' ? { ...shown, name: materialIn(String(text), short) } : shown;
}

/** Name of the material that a sentence is about; the sentence itself if it names none that is short. */
function materialIn(text: string, short: Shortages): string {
  const names = short.map(({ material: { guid, brand, type, color } }) => {
    const words = [brand, type, color].filter((word) => word !== null).join(' ');
    return words === '' ? (guid ?? '') : words;
  });
  const named = names.filter((name) => name !== '' && text.includes(name));
  return named.sort((one, other) => other.length - one.length)[0] ?? text;
}

/** The planned prints of the items that the page has. */
function planned({ forecast }: BoardState<Sentence>, shown: readonly BoardItem<Sentence>[]) {
  const ids = new Set(shown.map(({ itemId }) => itemId));
  return (forecast?.prints ?? []).filter(({ itemId }) => ids.has(itemId));
}

/** The message that turns `before` into `after`, as JSON; null if nothing changed. Without `before`, the whole. */
export function changeTo(after: Document, before: Document | null, now: number): string | null {
  const values = [...after.values].filter(([name, value]) => before?.values.get(name) !== value);
  const sections = SECTIONS.map((name) => [name, sectionChange(after.sections[name], before?.sections[name])] as const);
  const changed = sections.filter(([, change]) => change !== null);
  if (before && values.length === 0 && changed.length === 0) return null;
  const parts = [
    ...(before ? [] : [member('isWhole' satisfies keyof Change, 'true')]),
    member('values', object([...values, ['now', String(now)]])),
    member('sections', object(changed.map(([name, change]) => [name, change ?? '{}']))),
  ];
  return `{${parts.join(',')}}`;
}

/** JSON of the changes of a section; null if there are none. */
function sectionChange(after: ReadonlyMap<string, string>, before?: ReadonlyMap<string, string>): string | null {
  const set = [...after].filter(([id, entry]) => before?.get(id) !== entry);
  const ids = [...after.keys()];
  const isSameOrder = before?.size === ids.length && [...before.keys()].every((id, at) => id === ids[at]);
  if (set.length === 0 && isSameOrder) return null;
  const parts = [
    ...(isSameOrder ? [] : [member('ids', JSON.stringify(ids))]),
    ...(set.length === 0 ? [] : [member('set', object(set))]),
  ];
  return `{${parts.join(',')}}`;
}

const member = (name: string, json: string): string => `${JSON.stringify(name)}:${json}`;
const object = (entries: readonly (readonly [string, string])[]): string =>
  `{${entries.map(([name, json]) => member(name, json)).join(',')}}`;
