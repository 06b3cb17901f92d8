// State of the page: the board as the stream sends it, the connection, and the work under way on this page.
import type { BoardItem, BoardOrder, BoardPrinter, Change, Need, Notice, Section, Values } from '../lib/board/shapes';
import { setClock } from './words';

interface Entries {
  printers: BoardPrinter<string>;
  items: BoardItem<string>;
  orders: BoardOrder;
  todo: Need<string>;
  notices: Notice;
}

type Lists = { readonly [S in keyof Entries]: readonly Entries[S][] };

export interface State extends Lists {
  values: Values | null;
  /** Number of items that the stream lists; `items` lacks those that have yet to arrive. */
  named: number;
  isLive: boolean;
  /** Since when it is live or not, ms by the browser's clock. */
  since: number;
  /** Why the page gets no figures, if it knows. */
  trouble: 'token' | null;
  /** Presses that were done on this page. */
  presses: number;
  /** The last thing that was done, for the live region. */
  message: string;
  /** Why a press was refused or failed; null: nothing failed. */
  failure: string | null;
}

const SECTIONS = ['printers', 'items', 'orders', 'todo', 'notices'] as const satisfies readonly Section[];

let state: State = {
  ...{ printers: [], items: [], orders: [], todo: [], notices: [] },
  ...{ values: null, named: 0, isLive: false, since: Date.now(), trouble: null },
  ...{ presses: 0, message: '', failure: null },
};
const listeners = new Set<() => void>();

export const current = (): State => state;

export function set(changes: Partial<State>): void {
  state = { ...state, ...changes };
  for (const listener of listeners) listener();
}

export function subscribe(listener: () => void): () => void {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Says in the live region what was done. */
export const say = (message: string): void => set({ message });
export const fail = (failure: string | null): void => set({ failure });

const entries: Record<Section, Map<string, unknown>> = {
  ...{ printers: new Map(), items: new Map(), orders: new Map(), todo: new Map(), notices: new Map() },
};

/**
 * Applies a message of the stream. Entries that did not change stay the same objects. Those that a whole message brings in
 * a later piece stay as they were until then: a dialog or the focus may be in them.
 */
function apply(change: Change): void {
  const lists: Record<string, unknown> = {};
  for (const section of SECTIONS) {
    const changed = change.sections?.[section];
    if (!changed) continue;
    const before = entries[section];
    // An id may be any text, such as `constructor`.
    const set = new Map(Object.entries(changed.set ?? {}));
    const ids = changed.ids ?? [...before.keys()];
    entries[section] = new Map(ids.map((id) => [id, set.get(id) ?? before.get(id)]));
    lists[section] = [...entries[section].values()].filter((entry) => entry !== undefined);
  }
  const values = change.values ? ({ ...state.values, ...change.values } as Values) : state.values;
  if (change.values?.now !== undefined) setClock(change.values.now);
  set({ ...lists, values, named: entries.items.size });
}

/** Entries of a piece: drawing more of them at once would hold up a frame. */
const PIECE = 20;
const pieces: Change[] = [];

/** Applies a message in pieces, one a frame; the next message comes after them. What needs a person comes first. */
export function applyInPieces(change: Change): void {
  pieces.push(...piecesOf(change));
  if (pieces.length > 0 && !isApplying) applyNext();
}

let isApplying = false;
function applyNext(): void {
  const piece = pieces.shift();
  isApplying = piece !== undefined;
  if (!piece) return;
  // A timer, because a hidden page has no frames.
  setTimeout(applyNext, 20);
  apply(piece);
}

function piecesOf({ sections = {}, ...first }: Change): Change[] {
  const { printers, items, ...others } = sections;
  const split = [
    ['printers', printers],
    ['items', items],
  ] as const;
  const parts = split.flatMap(([name, changed]) =>
    inParts(Object.entries(changed?.set ?? {})).map((set): Change => ({ sections: { [name]: { set } } })),
  );
  const ids = split.flatMap(([name, changed]) => (changed?.ids ? [[name, { ids: changed.ids }]] : []));
  const begin: Change = { ...first, sections: { ...others, ...(Object.fromEntries(ids) as Change['sections']) } };
  const [next, ...rest] = parts;
  return next ? [merged(begin, next), ...rest] : [begin];
}

/** One piece of two: the second has entries of one section alone. */
function merged(begin: Change, next: Change): Change {
  const [[name, changed] = []] = Object.entries(next.sections ?? {}) as [Section, { set: Record<string, unknown> }][];
  if (!name || !changed) return begin;
  return { ...begin, sections: { ...begin.sections, [name]: { ...begin.sections?.[name], ...changed } } };
}

function inParts<T>(entries: readonly [string, T][]): Record<string, T>[] {
  const count = Math.ceil(entries.length / PIECE);
  return Array.from({ length: count }, (_, at) => Object.fromEntries(entries.slice(at * PIECE, (at + 1) * PIECE)));
}

export const printerId = ({ clusterId, printerId: own }: { clusterId: string; printerId: string | null }): string =>
  own === null ? clusterId : `${clusterId} ${own}`;

/** The name of a printer, whole. Members of a group have names of their own. */
export const printerName = ({
  clusterName,
  printerName: own,
  printerId: id,
  clusterId,
}: BoardPrinter<string>): string => (id === null ? (clusterName ?? own) : (own ?? clusterName)) ?? clusterId;

/** The name of an item, or of its file. */
export const itemName = ({ name, itemId }: Pick<BoardItem<string>, 'name' | 'itemId'>): string => name ?? itemId;
