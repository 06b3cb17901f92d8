// Pictures of the printers. A page says which ones it shows, and Node-RED takes those that are due.
import { useEffect, useRef } from 'preact/hooks';
import type { BoardPrinter } from '../lib/board/shapes';
import { current, printerId, printerName, subscribe } from './state';
import { useTicks } from './ui';
import { age, t } from './words';

/** Interval at which the page says what it shows, ms. */
const LOOK_EVERY = 15_000;

/** Ids of the printers in view, by element. */
const inView = new Map<Element, string>();
const known = new WeakMap<Element, string>();
let soon: number | undefined;

const observer = new IntersectionObserver((changes) => {
  for (const { target, isIntersecting } of changes)
    if (isIntersecting) inView.set(target, known.get(target) ?? '');
    else inView.delete(target);
  lookSoon();
});

function lookSoon(): void {
  soon ??= window.setTimeout(look, 200);
}

function look(): void {
  soon = undefined;
  const printers = [...new Set(inView.values())];
  if (document.hidden || printers.length === 0) return;
  const body = JSON.stringify({ printers });
  const headers = { 'Content-Type': 'application/json' };
  // The next look tries again.
  fetch('look', { method: 'POST', headers, body }).catch(() => undefined);
}

export function lookOn(): void {
  window.setInterval(look, LOOK_EVERY);
  document.addEventListener('visibilitychange', look);
  // A Node-RED that has restarted has no pictures.
  let { since } = current();
  subscribe(() => {
    const before = since;
    ({ since } = current());
    if (since !== before && current().isLive) look();
  });
}

interface PictureProps {
  printer: BoardPrinter<string>;
  /** The same picture is named elsewhere on the page. */
  isHidden?: boolean;
}

export function Picture({ printer, isHidden = false }: PictureProps) {
  const frame = useRef<HTMLDivElement>(null);
  const id = printerId(printer);
  const { pictureAt } = printer;
  useTicks(30_000);
  useEffect(() => {
    const element = frame.current;
    if (!element) return undefined;
    known.set(element, id);
    observer.observe(element);
    return () => {
      observer.unobserve(element);
      inView.delete(element);
    };
  }, [id]);
  // The picture after an end must not wait for the next look.
  useEffect(lookSoon, [printer.state]);
  const name = t('a11y.picture', { printer: printerName(printer) });
  const when = pictureAt ? age(pictureAt) : t('noPicture');
  const said = { alt: isHidden ? '' : `${name}, ${when}` };
  return (
    <div class="picture" ref={frame}>
      {pictureAt ? (
        <img
          {...said}
          src={`picture?printer=${encodeURIComponent(id)}&at=${encodeURIComponent(pictureAt)}`}
          decoding="async"
        />
      ) : (
        <span
          class="no-picture"
          {...(isHidden ? { 'aria-hidden': true } : { role: 'img', 'aria-label': `${name}, ${when}` })}
        />
      )}
      {pictureAt && (
        <span class="picture-age" aria-hidden="true">
          {when}
        </span>
      )}
    </div>
  );
}
