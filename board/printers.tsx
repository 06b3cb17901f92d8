// The printers as cards, and one printer alone.
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { Allow, BoardMaterial, BoardPrinter, PrinterDetails } from '../lib/board/shapes';
import { addressOf, go } from './address';
import { readJson } from './connection';
import { Picture } from './picture';
import { canTakeBack, press, pressedAnswer, pressLater, takeBack } from './presses';
import { itemName, printerId, printerName, type State } from './state';
import { Button, idFor, may, memo, Region, useBoard, useTicks } from './ui';
import { age, clock, dateAndTime, duration, now, t, word } from './words';

/** Cards in the order of need, then of name. */
export function Printers() {
  const { printers, todo, items, values } = useBoard();
  const sorted = useMemo(() => sortedByNeed(printers, todo), [printers, todo]);
  const orders = useMemo(() => new Map(items.map(({ itemId, orderId }) => [itemId, orderId])), [items]);
  const allow = values?.facts.allow ?? 'look';
  return (
    <Region id="printers" name={t('a11y.printers')}>
      <ul class="cards printers-list" aria-labelledby="printers-heading">
        {sorted.map((printer) => (
          <Card
            key={printerId(printer)}
            printer={printer}
            order={orders.get(printer.current?.itemId ?? '') ?? null}
            isAborting={pressedAnswer(abortId(printer)) !== undefined}
            canKeep={canTakeBack(abortId(printer))}
            allow={allow}
          />
        ))}
      </ul>
    </Region>
  );
}

/** Making one for each comparison would take longer than all else. */
const { compare } = new Intl.Collator(document.documentElement.lang, { numeric: true });

function sortedByNeed(printers: State['printers'], todo: State['todo']): readonly BoardPrinter<string>[] {
  const rank = (printer: BoardPrinter<string>): number => {
    const at = todo.findIndex(
      ({ clusterId, printerId: own }) => clusterId === printer.clusterId && (own === null || own === printer.printerId),
    );
    return at < 0 ? todo.length : at;
  };
  return printers
    .map((printer) => ({ printer, rank: rank(printer), name: printerName(printer) }))
    .sort((one, other) => one.rank - other.rank || compare(one.name, other.name))
    .map(({ printer }) => printer);
}

interface CardProps {
  printer: BoardPrinter<string>;
  /** The order that the present print belongs to. */
  order: string | null;
  isAborting: boolean;
  /** Whether its abort can be taken back. */
  canKeep: boolean;
  allow: Allow;
}

const Card = memo(({ printer, order }: CardProps) => {
  const name = printerName(printer);
  const id = idFor('printer', printerId(printer));
  return (
    <li>
      <article class={`card printer ${stateClass(printer.state)}`} aria-labelledby={id}>
        <Picture printer={printer} />
        <div class="printer-text">
          <div class="printer-name">
            <h3 id={id} class="clip">
              {name}
            </h3>
            <a
              href={addressOf(printerId(printer))}
              aria-label={t('a11y.open', { printer: name })}
              onClick={(event) => go(event, printerId(printer))}
            >
              {t('open')}
            </a>
          </div>
          <Facts printer={printer} order={order} />
        </div>
        <div class="printer-foot">
          <Controls printer={printer} name={name} />
        </div>
      </article>
    </li>
  );
});

/** Classes of the states that look different; those of a queue are the codes of what is in the way. */
const CLASSES: Readonly<Record<string, string>> = {
  ...{ printing: 'printing', paused: 'paused', offline: 'offline', fault: 'fault', plate: 'plate' },
  ...{ 'plate-not-cleared': 'plate', attention: 'attention', approval: 'attention', 'outcome-unknown': 'attention' },
};
const stateClass = (state: string): string => CLASSES[state] ?? 'other';

function Facts({ printer, order }: { printer: BoardPrinter<string>; order: string | null }) {
  const { sentence, job, progress, endAt, next, materials, seenAt } = printer;
  const name = printerName(printer);
  return (
    <>
      <p class="state">{sentence}</p>
      {job?.name && (
        <p class="clip quiet">
          {job.name}
          {order !== null && ` · ${t('a11y.order', { order })}`}
        </p>
      )}
      {progress !== null && (
        <>
          <div
            class="progress"
            role="progressbar"
            aria-label={t('a11y.progress', { printer: name })}
            aria-valuemin={0}
            aria-valuemax={100}
            aria-valuenow={Math.floor(progress)}
          >
            <span style={{ width: `${Math.min(100, Math.max(0, progress))}%` }} />
          </div>
          <Left progress={progress} endAt={endAt} />
        </>
      )}
      {next && <p class="clip quiet">{t('next', { item: itemName({ name: next.name, itemId: next.itemId }) })}</p>}
      {materials.length > 0 && <Materials materials={materials} />}
      {seenAt && <p class="old">{t('seen', { when: age(seenAt) })}</p>}
    </>
  );
}

function Left({ progress, endAt }: { progress: number; endAt: string | null }) {
  useTicks();
  const left = endAt === null ? null : Math.max(0, (Date.parse(endAt) - now()) / 1000);
  return (
    <p class="left">
      {t('percent', { n: Math.floor(progress) })}
      {left !== null && endAt !== null && ` · ${t('leftUntil', { left: duration(left), end: clock(endAt) })}`}
    </p>
  );
}

function Materials({ materials }: { materials: readonly BoardMaterial[] }) {
  return (
    <ul class="materials">
      {materials.slice(0, 8).map(({ extruder, slot, material, left }, at) => (
        <li key={at}>
          <svg class="swatch" viewBox="0 0 10 10" aria-hidden="true">
            <circle cx="5" cy="5" r="4.5" fill={colorOf(material?.color)} />
          </svg>
          {slot === null ? (extruder ?? 0) + 1 : t('slot', { n: slot + 1 })}{' '}
          {material ? (material.name ?? t('unknownMaterial')) : t('empty')}
          {material?.color && ` ${material.color}`}
          {left !== null && ` ${t('percent', { n: Math.round(left * 100) })}`}
        </li>
      ))}
    </ul>
  );
}

/** A color that a style may hold; the service names some by words. */
const colorOf = (color: string | null | undefined): string =>
  color && (/^#[\da-f]{6}$/i.test(color) || (/^[a-z]{3,20}$/i.test(color) && CSS.supports('color', color)))
    ? color
    : 'transparent';

const abortId = (printer: BoardPrinter<string>): string => `abort ${printer.job?.clusterJobId ?? ''}`;

function Controls({ printer, name }: { printer: BoardPrinter<string>; name: string }) {
  const { clusterId, printerId: own, job, paused, plate } = printer;
  const holes = { printer: name };
  const isPrinting = job?.clusterJobId && ['printing', 'paused', 'preparing'].includes(job.state);
  const waiting = pressedAnswer(abortId(printer));
  const onPrint = (action: string, key: string) => () =>
    press(
      { action, properties: { clusterId, clusterJobId: job?.clusterJobId } },
      t('done', { what: t(`a11y.${key}`, holes) }),
    );
  const isPaused = paused !== null;
  const onSwitch = async ({ currentTarget: box }: { currentTarget: HTMLInputElement }) => {
    const isDone = await press(
      { action: isPaused ? 'resume' : 'pause', properties: { clusterId, ...(own !== null && { printerId: own }) } },
      t('done', { what: t('a11y.noNewPrints', holes) }),
    );
    // The browser has turned it already, and without a change nothing draws it again.
    if (!isDone) box.checked = isPaused;
  };
  return (
    <div class="controls">
      {may('press') && isPrinting && job.state !== 'paused' && (
        <Button
          label={t('pause')}
          name={t('a11y.pausePrint', holes)}
          onPress={() => void onPrint('pause-print', 'pausePrint')()}
        />
      )}
      {may('press') && isPrinting && job.state === 'paused' && (
        <Button
          label={t('resume')}
          name={t('a11y.resumePrint', holes)}
          onPress={() => void onPrint('resume-print', 'resumePrint')()}
        />
      )}
      {may('all') && isPrinting && (
        <Button
          label={t('abort')}
          name={t('a11y.abortPrint', holes)}
          isPressed={waiting === 'abort'}
          onPress={() => pressLater(abortId(printer), 'abort', onPrint('abort-print', 'abortPrint'))}
        />
      )}
      {canTakeBack(abortId(printer)) && (
        <Button label={t('undo')} name={t('a11y.undo', { name })} onPress={() => takeBack(abortId(printer))} />
      )}
      {may('press') && plate !== null && (
        <label class="switch">
          <input
            type="checkbox"
            role="switch"
            checked={isPaused}
            aria-label={t('a11y.noNewPrints', holes)}
            onChange={(event) => void onSwitch(event)}
          />
          <span aria-hidden="true">{t('noNewPrints')}</span>
        </label>
      )}
    </div>
  );
}

/** One printer alone, with an address of its own. */
export function PrinterAlone({ id }: { id: string }) {
  const state = useBoard();
  const printer = state.printers.find((one) => printerId(one) === id);
  const details = useDetails(id, printer);
  const name = printer ? printerName(printer) : id;
  useEffect(() => document.getElementById('alone-heading')?.focus(), [id]);
  return (
    <Region id="alone" name={name}>
      <p>
        <a href={addressOf(null)} onClick={(event) => go(event, null)}>
          {t('a11y.back')}
        </a>
      </p>
      {!printer && <p>{t('noPrinter')}</p>}
      {printer && (
        <div class={`alone ${stateClass(printer.state)}`}>
          <Picture printer={printer} />
          <div>
            <Facts
              printer={printer}
              order={state.items.find(({ itemId }) => itemId === printer.current?.itemId)?.orderId ?? null}
            />
            <Controls printer={printer} name={name} />
          </div>
          {details && <Details details={details} isOfGroup={printer.printerId !== null} />}
        </div>
      )}
    </Region>
  );
}

/** Jobs and history of the last status, read anew after each change of the printer. */
function useDetails(id: string, printer: BoardPrinter<string> | undefined): PrinterDetails | null {
  const [details, setDetails] = useState<PrinterDetails | null>(null);
  useEffect(() => {
    const closing = new AbortController();
    readJson<PrinterDetails | null>(`printer?id=${encodeURIComponent(id)}`, closing.signal)
      .then(setDetails)
      // Shows what it has; the next change reads again.
      .catch(() => undefined);
    return () => closing.abort();
  }, [id, printer]);
  return details;
}

interface DetailsProps {
  details: PrinterDetails;
  /** Whether the printer has others behind its host. */
  isOfGroup: boolean;
}

function Details({ details, isOfGroup }: DetailsProps) {
  const { jobs, history, model, firmware, maintenanceDue } = details;
  return (
    <>
      <div>
        <h3>{t('jobs')}</h3>
        {jobs.length === 0 && <p class="quiet">{t('noJobs')}</p>}
        <ul>
          {jobs.map(({ clusterJobId, name, state }, at) => (
            <li key={clusterJobId ?? at}>
              {name} · {word('job', state)}
            </li>
          ))}
        </ul>
      </div>
      <div>
        <h3>{t('a11y.history')}</h3>
        <ul>
          {history.map(({ clusterJobId, name, state, createdAt, seconds, pictureAt }, at) => (
            <li key={clusterJobId ?? at}>
              {pictureAt && clusterJobId && (
                <img class="past" alt="" src={`picture?print=${encodeURIComponent(clusterJobId)}`} loading="lazy" />
              )}
              {name} · {word('job', state)}
              {seconds !== null && ` · ${duration(seconds)}`}
              {createdAt && ` · ${dateAndTime(createdAt)}`}
            </li>
          ))}
        </ul>
      </div>
      <div>
        <h3>{t('maintenance')}</h3>
        <p>{maintenanceDue.length > 0 ? t('maintenanceDue') : t('maintenanceNotDue')}</p>
        {isOfGroup && (
          <ul>
            {maintenanceDue.map((due, at) => (
              <li key={at}>{due}</li>
            ))}
          </ul>
        )}
        {model && <p class="quiet">{model}</p>}
        {firmware.version && (
          <p class="quiet">
            {t('firmware', { version: firmware.version })}
            {firmware.latest &&
              firmware.latest !== firmware.version &&
              ` · ${t('newFirmware', { version: firmware.latest })}`}
          </p>
        )}
      </div>
    </>
  );
}
