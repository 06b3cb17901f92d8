// A bar for each print of the next 24 hours, running or planned.
import { useEffect, useMemo, useState } from 'preact/hooks';
import type { BoardPrinter, Values } from '../lib/board/shapes';
import { itemName, printerId, printerName, type State } from './state';
import { memo, Region, useBoard, useTicks } from './ui';
import { clock, now, t } from './words';

const SPAN = 24 * 3_600_000;

interface Bar {
  name: string;
  from: number;
  to: number;
  isRunning: boolean;
}

export function Timeline() {
  const { printers } = useBoard();
  const from = useMinute();
  const hours = Array.from({ length: 5 }, (_, at) => from + (at * SPAN) / 4);
  return (
    <Region id="timeline" name={t('a11y.timeline')}>
      <div class="hours" aria-hidden="true">
        {hours.map((at) => (
          <span key={at}>{clock(at)}</span>
        ))}
      </div>
      <ul class="timeline-list" aria-labelledby="timeline-heading">
        {Array.from({ length: Math.ceil(printers.length / GROUP) }, (_, group) => (
          <Lines key={group} group={group} />
        ))}
      </ul>
    </Region>
  );
}

/** Lines that are drawn at once: more of them would hold up a frame. */
const GROUP = 40;
/** Delay of the first group of lines, and of each further one, ms. */
const [LATER, APART] = [100, 30];

function Lines({ group }: { group: number }) {
  const { printers, items, values } = useLater(useBoard(), LATER + group * APART);
  const from = useMinute();
  const forecast = values?.forecast ?? null;
  const planned = useMemo(() => plannedBars(items, forecast), [items, forecast]);
  return (
    <>
      {printers.slice(group * GROUP, (group + 1) * GROUP).map((printer) => (
        <Line
          key={printerId(printer)}
          printer={printer}
          planned={planned.get(printerId(printer)) ?? NONE}
          from={from}
        />
      ))}
    </>
  );
}

/** The present minute, ms since 1970. */
function useMinute(): number {
  useTicks(60_000);
  return Math.floor(now() / 60_000) * 60_000;
}

/** The state as of a moment ago: the lines have frames of their own, and wait while others are drawn. */
function useLater(state: State, delay: number): State {
  const [later, setLater] = useState(state);
  useEffect(() => {
    const timer = setTimeout(() => setLater(state), delay);
    return () => clearTimeout(timer);
  }, [state]);
  return later;
}

const NONE: readonly Bar[] = [];

/** The planned prints of each printer, by its id. */
function plannedBars(items: State['items'], forecast: Values['forecast']): Map<string, Bar[]> {
  const names = new Map(items.map((item) => [item.itemId, itemName(item)]));
  const bars = new Map<string, Bar[]>();
  for (const { itemId, startAt, endAt, copies, ...printer } of forecast?.prints ?? []) {
    const name = names.get(itemId) ?? itemId;
    const bar = {
      name: copies > 1 ? `${copies} × ${name}` : name,
      from: Date.parse(startAt),
      to: Date.parse(endAt),
      isRunning: false,
    };
    const id = printerId(printer);
    bars.set(id, [...(bars.get(id) ?? []), bar]);
  }
  return bars;
}

/** The bars of a printer in their order: its print first, then what is planned after it. */
function barsOf({ endAt, job }: BoardPrinter<string>, planned: readonly Bar[], from: number): Bar[] {
  const running = endAt === null ? [] : [{ name: job?.name ?? '', from, to: Date.parse(endAt), isRunning: true }];
  const begin = running[0]?.to ?? from;
  const next = planned
    .map((bar) => ({ ...bar, from: Math.max(bar.from, begin) }))
    .filter((bar) => bar.from < bar.to && bar.from < from + SPAN);
  return [...running, ...next].sort((one, other) => one.from - other.from);
}

interface LineProps {
  printer: BoardPrinter<string>;
  planned: readonly Bar[];
  from: number;
}

const Line = memo(({ printer, planned, from }: LineProps) => {
  const bars = barsOf(printer, planned, from);
  const percent = (at: number) => Math.min(100, Math.max(0, ((at - from) / SPAN) * 100));
  const said = bars.map((bar) =>
    t(bar.isRunning ? 'runsUntil' : 'plannedFor', { item: bar.name, start: clock(bar.from), end: clock(bar.to) }),
  );
  return (
    <li>
      <span class="clip line-name">{printerName(printer)}</span>
      <span class="said">{said.length === 0 ? t('noPrints') : said.join('; ')}</span>
      <span class="line" aria-hidden="true">
        {bars.map((bar, at) => (
          <span
            key={at}
            class={`line-bar ${bar.isRunning ? 'running' : 'planned'}`}
            title={said[at]}
            style={{
              insetInlineStart: `${percent(bar.from)}%`,
              width: `${Math.max(0.4, percent(bar.to) - percent(bar.from))}%`,
            }}
          >
            {bar.name}
          </span>
        ))}
      </span>
    </li>
  );
});
