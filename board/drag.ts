// Moves items of the queue: with the pointer, and with the keyboard on the same button.
import { useEffect, useRef } from 'preact/hooks';
import type { BoardItem } from '../lib/board/shapes';
import { press } from './presses';
import { current, itemName, say, set, subscribe } from './state';
import { t } from './words';

/** Longest wait for the new order of the queue, ms. */
const PATIENCE = 3_000;

/** The item that is taken up, and where it would be put down: before the item with this id, or last. */
export interface Move {
  itemId: string;
  before: string | null;
  byKeyboard: boolean;
}
let move: Move | null = null;
/** Whether an item is taken up and not yet put down. */
let isUp = false;

export const moving = (): Move | null => move;

/** Items that the queue lists, those on demand and the results of a search included. */
let listed: readonly BoardItem<string>[] = [];
export function list(items: readonly BoardItem<string>[]): void {
  listed = items;
  // An item that prints by now, or has gone, has lost its button: no person can put it down.
  if (!isUp || planned().some(({ itemId }) => itemId === move?.itemId)) return;
  isUp = false;
  move = null;
}

/** Items that can be moved: those of the queue's order. */
const planned = (): BoardItem<string>[] => listed.filter(({ position }) => position !== null);

/** Place in the whole queue of the item at a place among those that can be moved. */
const placeOf = (at: number): number => planned()[at]?.position ?? at + 1;

/** The items as they would stand if the move ended now. */
export function inOrder(items: readonly BoardItem<string>[]): readonly BoardItem<string>[] {
  const moved = items.find(({ itemId }) => itemId === move?.itemId);
  if (!move || !moved) return items;
  const others = items.filter((item) => item !== moved);
  const { before } = move;
  const last = others.findLastIndex(({ position }) => position !== null) + 1;
  const at = before === null ? last : others.findIndex(({ itemId }) => itemId === before);
  return [...others.slice(0, at < 0 ? last : at), moved, ...others.slice(at < 0 ? last : at)];
}

function begin(itemId: string, byKeyboard: boolean): void {
  const ids = planned().map((item) => item.itemId);
  const at = ids.indexOf(itemId);
  isUp = at >= 0;
  if (!isUp) return;
  move = { itemId, before: ids[at + 1] ?? null, byKeyboard };
  say(t('taken', { item: nameOf(itemId), n: placeOf(at) }));
}

function putBefore(before: string | null): void {
  if (!move || before === move.itemId || before === move.before) return;
  move = { ...move, before };
  const at = inOrder(planned()).findIndex(({ itemId }) => itemId === move?.itemId);
  say(t('movedTo', { item: nameOf(move.itemId), n: placeOf(at) }));
}

function step(by: 1 | -1): void {
  if (!move) return;
  const { itemId } = move;
  const order = inOrder(planned());
  const at = order.findIndex((item) => item.itemId === itemId);
  const to = at + by;
  if (to < 0 || to >= order.length) return;
  const others = order.filter((item) => item.itemId !== itemId);
  putBefore(others[to]?.itemId ?? null);
}

/** Puts the item down. It stays there until the queue has answered. */
function end(): void {
  if (!move) return;
  const { itemId, before } = move;
  const order = planned();
  const was = order.findIndex((item) => item.itemId === itemId);
  const place = inOrder(order).findIndex((item) => item.itemId === itemId);
  const said = t('putDown', { item: nameOf(itemId), n: placeOf(place) });
  if (place === was) {
    move = null;
    say(said);
    return;
  }
  const properties = before === null ? { itemId, position: placeOf(order.length - 1) } : { itemId, before };
  const ended = move;
  const { items } = current();
  const release = () => {
    if (move === ended) cancel(false);
  };
  void press({ action: 'move', properties }, said).then((isDone) => {
    if (!isDone) return release();
    // The next message has the new order, unless the queue chose another one.
    const leave = subscribe(() => {
      if (current().items !== items) over();
    });
    const timer = setTimeout(() => over(), PATIENCE);
    const over = () => {
      leave();
      clearTimeout(timer);
      release();
    };
    if (current().items !== items) over();
  });
}

function cancel(isTold = true): void {
  const was = move;
  move = null;
  if (isTold && was) say(t('putBack', { item: nameOf(was.itemId) }));
  else set({});
}

const nameOf = (itemId: string): string => {
  const item = listed.find((one) => one.itemId === itemId);
  return item ? itemName(item) : itemId;
};

/** Properties of the button that moves its item. The focus stays on it, wherever the item goes. */
export function useDrag(itemId: string) {
  const button = useRef<HTMLButtonElement>(null);
  // Keys may come faster than the page is drawn.
  const isMoved = () => move?.itemId === itemId && isUp;
  const isMoving = isMoved();
  useEffect(() => {
    if (isMoving && move?.byKeyboard) button.current?.focus();
  });
  useEffect(() => {
    const handle = button.current;
    if (!handle) return undefined;
    const onDown = (event: PointerEvent) => {
      if (event.button !== 0 || isUp) return;
      handle.setPointerCapture(event.pointerId);
      const ending = new AbortController();
      // An item that leaves its order is drawn anew, with another button. So the document listens.
      const on = (type: 'pointermove' | 'pointerup' | 'pointercancel', act: (of: PointerEvent) => void) =>
        document.addEventListener(type, (of) => of.pointerId === event.pointerId && act(of), { signal: ending.signal });
      let isBegun = false;
      const onMove = ({ clientX, clientY, movementY }: PointerEvent) => {
        if (!isBegun && movementY === 0) return;
        if (!isBegun) {
          isBegun = true;
          begin(itemId, false);
        }
        overItem(clientX, clientY);
      };
      const onUp = () => {
        ending.abort();
        if (!isBegun) return;
        isUp = false;
        // A click follows, which would take the item up again.
        handle.addEventListener('click', (click) => click.stopPropagation(), { capture: true, once: true });
        end();
      };
      const onCancel = () => {
        ending.abort();
        isUp = false;
        cancel();
      };
      on('pointermove', onMove);
      on('pointerup', onUp);
      on('pointercancel', onCancel);
    };
    handle.addEventListener('pointerdown', onDown);
    return () => handle.removeEventListener('pointerdown', onDown);
  }, [itemId]);
  return {
    button,
    isMoving,
    toggle: () => {
      if (isMoved()) {
        isUp = false;
        end();
      } else begin(itemId, true);
    },
    onKeyDown: (event: KeyboardEvent) => {
      if (!isMoved()) return;
      if (event.key === 'Escape') {
        isUp = false;
        cancel();
      } else if (event.key === 'ArrowUp') step(-1);
      else if (event.key === 'ArrowDown') step(1);
      else return;
      event.preventDefault();
    },
  };
}

/** Finds the item under the pointer: the moved one goes before it, or after it in its lower half. */
function overItem(x: number, y: number): void {
  const element = document.elementFromPoint(x, y)?.closest<HTMLElement>('[data-item]');
  const over = element?.dataset.item;
  if (!element || over === undefined || over === move?.itemId) return;
  const { top, height } = element.getBoundingClientRect();
  const order = planned().filter(({ itemId }) => itemId !== move?.itemId);
  const at = order.findIndex(({ itemId }) => itemId === over);
  if (at < 0) return;
  putBefore(y < top + height / 2 ? over : (order[at + 1]?.itemId ?? null));
}
