// The items of the queue: search, order, changes.
import { useCallback, useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { Allow, BoardItem, BoardOrder } from '../lib/board/shapes';
import { FILTERS, isSearching, type Search, search, setSearch } from './address';
import { readJson } from './connection';
import { inOrder, list, type Move, moving, useDrag } from './drag';
import { canTakeBack, press, pressAll, pressedAnswer, pressLater, takeBack } from './presses';
import { current, itemName, printerId, printerName, say, type State } from './state';
import { Button, cancelButton, Dialog, Field, idFor, may, memo, Region, typed, useBoard } from './ui';
import { clock, t, word } from './words';

const STATES = ['active', 'waiting', 'held', 'blocked', 'failed', 'finished', 'cancelled'];

export function Queue() {
  const state = useBoard();
  const query = location.search;
  const [shownMore, showMore] = useState({ query, more: 0 });
  // Another search begins with its first results.
  const more = shownMore.query === query ? shownMore.more : 0;
  const [chosen, choose] = useState<ReadonlySet<string>>(new Set());
  const [removed, remove] = useState<readonly BoardItem<string>[]>([]);
  const open = useMemo(() => state.items.filter((item) => !isOver(item)), [state.items]);
  const isOfSearch = isSearching();
  // Those that need a person are on the page from all over the queue, and others may not have arrived yet: nothing may be
  // left out between the items of the stream and those that are read.
  const read = useRead(state, isOfSearch ? 0 : Math.max(0, state.named - state.todo.length), more);
  const listed = useMemo(() => (isOfSearch ? read.items : united(open, read.items)), [isOfSearch, open, read]);
  const total = isOfSearch ? read.total : (state.values?.open ?? 0);
  const orders = useMemo(() => new Map(state.orders.map((order) => [order.orderId, order])), [state.orders]);
  const onChoose = useCallback(
    (itemId: string, isChosen: boolean) => choose((before) => changed(before, itemId, isChosen)),
    [],
  );
  list(listed);
  const shown = inOrder(listed);
  // A removal keeps its bar until it is done, whatever is chosen meanwhile.
  const isRemoving = pressedAnswer('chosen') !== undefined;
  const acted = isRemoving ? removed : shown.filter(({ itemId }) => chosen.has(itemId));
  return (
    <Region id="queue" name={t('a11y.queue')}>
      <SearchBar printers={state.printers} orders={state.orders} items={state.items} query={query} />
      {acted.length > 0 && (
        <Chosen
          items={acted}
          isRemoving={isRemoving}
          onRemove={() => remove(acted)}
          onDone={() =>
            choose((before) => new Set([...before].filter((id) => acted.every(({ itemId }) => itemId !== id))))
          }
        />
      )}
      {shown.length === 0 && <p class="calm">{isOfSearch ? t('nothingFound') : t('queueEmpty')}</p>}
      {shown.length > 0 && (
        <ul class="items" aria-labelledby="queue-heading">
          {runsOf(shown).map((run) => (
            <Run key={run.key} run={run} order={orders.get(run.orderId ?? '')} chosen={chosen} onChoose={onChoose} />
          ))}
        </ul>
      )}
      {listed.length < total && (
        <div class="bar">
          <Button
            label={t('a11y.showMore')}
            name={t('a11y.showMore')}
            onPress={() => showMore({ query, more: more + 1 })}
          />
          <span class="quiet">{t('shownOf', { n: listed.length, total })}</span>
        </div>
      )}
    </Region>
  );
}

/** Whether it has ended; it may be on the page because it needs a person. */
const isOver = ({ state }: BoardItem<string>): boolean => ['finished', 'cancelled', 'failed'].includes(state);

/** Items of two lists, each once. */
function united(items: State['items'], others: State['items']): State['items'] {
  const ids = new Set(items.map(({ itemId }) => itemId));
  return [...items, ...others.filter(({ itemId }) => !ids.has(itemId))];
}

function changed(chosen: ReadonlySet<string>, itemId: string, isChosen: boolean): ReadonlySet<string> {
  const next = new Set(chosen);
  if (isChosen) next.add(itemId);
  else next.delete(itemId);
  return next;
}

interface Found {
  total: number;
  items: State['items'];
}

const NONE: Found = { total: 0, items: [] };
/** Items are read this long after a change that asks for them, ms: typing and changes come in quick succession. */
const SOON = 200;
/** Shortest time between two readings of items that were shown on demand, ms, without a press. */
const SELDOM = 30_000;
/** Pause after a read that failed, ms. */
const AGAIN = 3_000;

/** Reads items of a search from a place on, in `pages` requests. */
async function readItems(wanted: Search, from: number, pages: number): Promise<Found> {
  let found = NONE;
  for (let page = 0, next = from; page < pages; page++) {
    const read: Found = await readJson(`items?${new URLSearchParams({ ...wanted, from: String(next) }).toString()}`);
    next += read.items.length;
    // The queue may have moved between two requests.
    found = { total: read.total, items: united(found.items, read.items) };
    if (read.items.length === 0) break;
  }
  return found;
}

/** Items beside those of the stream, read anew after changes: the results of the address's search, and those on demand. */
function useRead({ values, presses }: State, from: number, more: number): Found {
  const [read, setRead] = useState<{ query: string; found: Found } | null>(null);
  const [failures, setFailures] = useState(0);
  const isOfSearch = isSearching();
  const query = isOfSearch ? location.search : '';
  const pages = isOfSearch ? more + 1 : more;
  const asked = [query, pages, presses].join(' ');
  const lastAsked = useRef(asked);
  lastAsked.current = asked;
  const last = useRef({ asked: '', at: 0, pause: 0 });
  useEffect(() => {
    if (pages === 0) return undefined;
    const { at, pause } = last.current;
    // A clock that was set back makes no pause longer.
    const wait = last.current.asked === asked ? Math.min(pause, at + pause - Date.now()) : 0;
    const timer = setTimeout(
      () => {
        readItems(search(), from, pages)
          .then((found) => {
            if (lastAsked.current !== asked) return;
            if (isOfSearch && read?.query !== query) say(t('found', { n: found.total }));
            last.current = { asked, at: Date.now(), pause: more > 0 ? SELDOM : 0 };
            setRead({ query, found });
          })
          .catch(() => {
            last.current = { asked, at: Date.now(), pause: AGAIN };
            setFailures((count) => count + 1);
          });
      },
      Math.max(SOON, wait),
    );
    return () => clearTimeout(timer);
  }, [asked, values, failures]);
  // While another search is typed, the last one's results stay.
  return pages > 0 && read && (read.query !== '') === isOfSearch ? read.found : NONE;
}

const SearchBar = memo(
  ({ printers, orders, items }: Pick<State, 'printers' | 'orders' | 'items'> & { query: string }) => {
    const wanted = search();
    const owners = useMemo(() => [...new Set(items.flatMap(({ owner }) => owner ?? []))].sort(), [items]);
    const choice = (name: (typeof FILTERS)[number], label: string, options: readonly (readonly [string, string])[]) => (
      <Field label={label}>
        <select value={wanted[name]} onChange={(event) => setSearch({ [name]: typed(event) })}>
          <option value="">{t('all')}</option>
          {(wanted[name] === '' || options.some(([value]) => value === wanted[name])
            ? options
            : [[wanted[name], wanted[name]] as const, ...options]
          ).map(([value, text]) => (
            <option key={value} value={value}>
              {text}
            </option>
          ))}
        </select>
      </Field>
    );
    return (
      <div role="search" class="search">
        <Field label={t('a11y.search')}>
          <input type="search" value={wanted.q} onInput={(event) => setSearch({ q: typed(event) })} />
        </Field>
        {choice(
          'state',
          t('a11y.state'),
          STATES.map((state) => [state, word('item', state)] as const),
        )}
        {choice(
          'printer',
          t('a11y.printer'),
          printers.map((printer) => [printerId(printer), printerName(printer)] as const),
        )}
        {choice(
          'order',
          t('a11y.orderFilter'),
          orders.map(({ orderId }) => [orderId, orderId] as const),
        )}
        {choice(
          'owner',
          t('a11y.owner'),
          owners.map((owner) => [owner, owner] as const),
        )}
      </div>
    );
  },
);

/** Items of one order that stand one after the other. */
interface RunOfItems {
  /** Stays when the first item of an order ends: a dialog or the focus may be in the others. */
  key: string;
  orderId: string | null;
  items: readonly BoardItem<string>[];
}

function runsOf(items: readonly BoardItem<string>[]): RunOfItems[] {
  const runs: (RunOfItems & { items: BoardItem<string>[] })[] = [];
  const orders = new Set<string>();
  for (const item of items) {
    const { itemId, orderId } = item;
    const last = runs.at(-1);
    if (last && orderId !== null && last.orderId === orderId) last.items.push(item);
    else {
      const isFirst = orderId !== null && !orders.has(orderId);
      runs.push({ key: isFirst ? `order ${orderId}` : `item ${itemId}`, orderId, items: [item] });
      if (isFirst) orders.add(orderId);
    }
  }
  return runs;
}

interface RunProps {
  run: RunOfItems;
  order: BoardOrder | undefined;
  chosen: ReadonlySet<string>;
  onChoose: (itemId: string, isChosen: boolean) => void;
}

function Run({ run: { orderId, items }, order, chosen, onChoose }: RunProps) {
  const allow = current().values?.facts.allow ?? 'look';
  const cards = items.map((item) => (
    <Item
      key={item.itemId}
      item={item}
      isChosen={chosen.has(item.itemId)}
      onChoose={onChoose}
      isRemoving={pressedAnswer(removal(item.itemId)) !== undefined}
      canKeep={canTakeBack(removal(item.itemId))}
      move={moving()?.itemId === item.itemId ? moving() : null}
      allow={allow}
    />
  ));
  if (orderId === null) return <li>{cards}</li>;
  return (
    <li>
      <div role="group" class="order" aria-label={t('a11y.order', { order: orderId })}>
        <p class="order-line">
          <strong class="clip">{t('a11y.order', { order: orderId })}</strong>
          {order && <span class="quiet"> {t('goodOf', { good: order.good, wanted: order.wanted })}</span>}
          {order?.endAt && (
            <span class={order.late ? 'late' : 'quiet'}> {t('endsAt', { end: clock(order.endAt) })}</span>
          )}
        </p>
        {cards}
      </div>
    </li>
  );
}

const removal = (itemId: string): string => `remove ${itemId}`;

interface ItemProps {
  item: BoardItem<string>;
  isChosen: boolean;
  onChoose: (itemId: string, isChosen: boolean) => void;
  /** Whether its removal waits to be sent. */
  isRemoving: boolean;
  /** Whether its removal can be taken back. */
  canKeep: boolean;
  /** Set while it is moved; another object at each place. */
  move: Move | null;
  allow: Allow;
}

const Item = memo(({ item, isChosen, onChoose, isRemoving, canKeep, move }: ItemProps) => {
  const { itemId, state, held, eta, deadline, sentence, copies, parts, priority, position } = item;
  const name = itemName(item);
  const holes = { item: name };
  const id = idFor('item', itemId);
  const drag = useDrag(itemId);
  const [isEdited, edit] = useState(false);
  const [isExplained, explain] = useState(false);
  const done = (key: string) => t('done', { what: t(`a11y.${key}`, holes) });
  const key = removal(itemId);
  const [good, wanted] = parts ? [parts.good, parts.wanted] : [copies.good, copies.total];
  const isHeld = held || state === 'held' || copies.held > 0;
  return (
    <article class={`item ${move ? 'moving' : ''}`} aria-labelledby={id} data-item={itemId}>
      {may('press') && (
        <input
          type="checkbox"
          checked={isChosen}
          aria-label={t('a11y.select', holes)}
          onChange={({ currentTarget }) => onChoose(itemId, currentTarget.checked)}
        />
      )}
      {may('press') && position !== null && (
        <Button
          label={<span class="grip">⋮⋮</span>}
          name={t('a11y.drag', holes)}
          isPressed={drag.isMoving}
          onPress={drag.toggle}
          buttonRef={drag.button}
          onKeyDown={drag.onKeyDown}
        />
      )}
      <div class="item-text">
        <h3 id={id} class="clip">
          {name}
        </h3>
        <p>{sentence}</p>
        <p class="quiet">
          {t('goodOf', { good, wanted })} · {word('item', state)}
          {priority !== 0 && ` · ${t('priorityIs', { n: priority })}`}
          {eta && ` · ${t('endsAt', { end: clock(eta.endAt) })}`}
          {deadline && ` · ${t('deadlineIs', { at: clock(deadline) })}`}
        </p>
        {isExplained && <Explanation item={item} />}
      </div>
      <div class="item-buttons">
        {may('press') && !isOver(item) && (
          <Button
            label={isHeld ? t('release') : t('hold')}
            name={t(isHeld ? 'a11y.release' : 'a11y.hold', holes)}
            onPress={() =>
              void press(
                { action: isHeld ? 'release' : 'hold', properties: { itemId } },
                done(isHeld ? 'release' : 'hold'),
              )
            }
          />
        )}
        {may('press') && <Button label={t('edit')} name={t('a11y.edit', holes)} onPress={() => edit(true)} />}
        <Button
          label={t('explain')}
          name={t('a11y.explain', holes)}
          isExpanded={isExplained}
          onPress={() => explain(!isExplained)}
        />
        {may('all') && (
          <Button
            label={t('remove')}
            name={t('a11y.remove', holes)}
            isPressed={isRemoving}
            onPress={() =>
              pressLater(key, 'remove', () => press({ action: 'remove', properties: { itemId } }, done('remove')))
            }
          />
        )}
        {canKeep && <Button label={t('undo')} name={t('a11y.undo', { name })} onPress={() => takeBack(key)} />}
      </div>
      {isEdited && <Edit item={item} onClose={() => edit(false)} />}
    </article>
  );
});

interface WhyThere {
  clusterId: string | null;
  clusterName: string | null;
  text: string;
}

/** Read anew after each change of the item. */
function Explanation({ item }: { item: BoardItem<string> }) {
  const [reasons, setReasons] = useState<WhyThere[] | null>(null);
  useEffect(() => {
    const closing = new AbortController();
    readJson<WhyThere[]>(`explain?item=${encodeURIComponent(item.itemId)}`, closing.signal)
      .then(setReasons)
      // The item has gone, or Node-RED is away.
      .catch(() => undefined);
    return () => closing.abort();
  }, [item]);
  if (!reasons) return null;
  return (
    <ul class="reasons">
      {reasons.length === 0 && <li>{t('noReasons')}</li>}
      {reasons.map(({ clusterName, text }, at) => (
        <li key={at}>{clusterName ? `${clusterName}: ${text}` : text}</li>
      ))}
    </ul>
  );
}

function Edit({ item: present, onClose }: { item: BoardItem<string>; onClose: () => void }) {
  // As it was opened: what others change meanwhile is no change of this dialog.
  const [item] = useState(present);
  const { itemId, parts } = item;
  const name = itemName(item);
  const count = parts ? parts.wanted : item.copies.total;
  const [priority, setPriority] = useState(String(item.priority));
  const [copies, setCopies] = useState(String(count));
  const [deadline, setDeadline] = useState(item.deadline ? localTime(item.deadline) : '');
  const save = () => {
    const changes = {
      ...(Number(priority) !== item.priority && { priority: Number(priority) }),
      ...(Number(copies) !== count && { [parts ? 'wanted' : 'copies']: Number(copies) }),
      ...(deadline !== (item.deadline ? localTime(item.deadline) : '') && { deadline: isoOf(deadline) }),
    };
    onClose();
    if (Object.keys(changes).length > 0)
      void press(
        { action: 'update', properties: { itemId, ...changes } },
        t('done', { what: t('a11y.edit', { item: name }) }),
      );
  };
  return (
    <Dialog name={name} onClose={onClose}>
      <Field label={t('a11y.priority')}>
        <input type="number" min={-100} max={100} value={priority} onInput={(event) => setPriority(typed(event))} />
      </Field>
      <Field label={parts ? t('a11y.parts') : t('a11y.copies')}>
        <input type="number" min={1} max={10000} value={copies} onInput={(event) => setCopies(typed(event))} />
      </Field>
      <Field label={t('a11y.deadline')}>
        <input
          type="text"
          inputMode="numeric"
          placeholder="2027-01-31 18:00"
          value={deadline}
          onInput={(event) => setDeadline(typed(event))}
        />
      </Field>
      <div class="bar">
        <Button label={t('a11y.save')} name={t('a11y.save')} kind="main" onPress={save} />
        {cancelButton(onClose)}
      </div>
    </Dialog>
  );
}

/** A time as people write it here, such as `2027-01-31 18:00`. */
function localTime(at: string): string {
  const date = new Date(at);
  const two = (value: number) => String(value).padStart(2, '0');
  return `${date.getFullYear()}-${two(date.getMonth() + 1)}-${two(date.getDate())} ${two(date.getHours())}:${two(date.getMinutes())}`;
}

/** The same as a message carries it. What is no such time goes as it is: the queue says what it expects. */
function isoOf(text: string): string | null {
  if (text.trim() === '') return null;
  const time = /^\d{4}-\d\d-\d\d[ T]\d\d:\d\d$/.test(text.trim()) ? new Date(text.trim().replace(' ', 'T')) : null;
  return time && !Number.isNaN(time.getTime()) ? time.toISOString() : text.trim();
}

interface ChosenProps {
  items: readonly BoardItem<string>[];
  /** Whether the removal of these items is under way. */
  isRemoving: boolean;
  onRemove: () => void;
  onDone: () => void;
}

/** Actions on several items at once. */
function Chosen({ items, isRemoving, onRemove, onDone }: ChosenProps) {
  const [priority, setPriority] = useState('0');
  const names = items.map(itemName).join(', ');
  const all = async (action: string, more: object = {}): Promise<boolean> => {
    const isDone = await pressAll(items.map(({ itemId }) => ({ action, properties: { itemId, ...more } })));
    onDone();
    return isDone;
  };
  return (
    <div class="bar chosen" role="group" aria-label={t('chosen', { n: items.length })}>
      <span>{t('chosen', { n: items.length })}</span>
      <Button label={t('hold')} name={t('holdChosen')} onPress={() => void all('hold')} />
      <Button label={t('release')} name={t('releaseChosen')} onPress={() => void all('release')} />
      <Field label={t('a11y.priority')}>
        <input type="number" min={-100} max={100} value={priority} onInput={(event) => setPriority(typed(event))} />
      </Field>
      <Button
        label={t('a11y.save')}
        name={t('setPriority')}
        onPress={() => void all('update', { priority: Number(priority) })}
      />
      {may('all') && (
        <Button
          label={t('remove')}
          name={t('removeChosen')}
          onPress={() => {
            onRemove();
            pressLater('chosen', 'remove', () => all('remove'));
          }}
          isPressed={isRemoving}
        />
      )}
      {canTakeBack('chosen') && (
        <Button label={t('undo')} name={t('a11y.undo', { name: names })} onPress={() => takeBack('chosen')} />
      )}
      {isRemoving && <span class="quiet">{names}</span>}
    </div>
  );
}
