import { isoTime } from '../../time/clock';
import { phrase, Sentence } from '../../words/sentence';
import { isPlateToClear, type PlateGate } from '../model/gate';
import { judgesOf, printToClear } from '../model/gate-verdicts';
import { copiesIn, isStuck, lastAttempt } from '../model/item';
import type { Require } from '../model/requirement';
import {
  type Answer,
  type BoardPrinter,
  type Forecast,
  type ItemRecord,
  type Need,
  printerKey,
  type PrinterReason,
} from '../model/types';
import { missingPieces } from '../plan/suitability';
import type { QueueContext } from '../run/context';
import { labelOf } from './printers';

/** Most copies of one item, and most printers of one answer, that are shown one by one. */
const MOST = { copies: 20, printers: 50 };

/** Present needs that a person has to meet. Every answer names the print or the item that it is about. `ofItems`: those of `needsOfItem`. */
export function needsOf(
  queue: QueueContext,
  { printers, ofItems, forecast }: { printers: readonly BoardPrinter[]; ofItems: readonly Need[]; forecast: Forecast },
): Need[] {
  const stopped = queue.obstacle();
  const isSignedOut = stopped?.code === 'QUEUE_PAUSED';
  const shortages = forecast.materials.flatMap(shortage);
  return [
    ...(isSignedOut ? [{ ...OF_NOTHING, id: 'sign-in', kind: 'sign-in' as const, text: stopped.sentence }] : []),
    ...plates(queue, printers),
    ...ofItems,
    ...printers.flatMap((printer) => troubles(printer)),
    // Before that, the loaded materials are not known.
    ...(shortages.length > 0 && queue.view.isComplete ? shortages : []),
  ];
}

/** Needs of an item. */
export const needsOfItem = (queue: QueueContext, record: ItemRecord): Need[] => [
  ...doubts(record),
  ...blockades(queue, record),
  ...failures(record),
];

const OF_NOTHING = { clusterId: null, printerId: null, itemId: null, since: null, answers: [] } as const;

const GOOD = phrase`Good`;
const BAD = phrase`Bad`;
const CLEAR = phrase`Clear`;
const PRINTED = phrase`It printed`;
const NOT_PRINTED = phrase`It did not print`;
const ANYWAY = phrase`Print anyway`;
const REMOVE = phrase`Remove`;
const AGAIN = phrase`Again`;

const timeOf = (ms: number | null | undefined): string | null =>
  typeof ms === 'number' && ms > 0 ? isoTime(ms) : null;

// Plates

function plates({ data, rules, queueId }: QueueContext, printers: readonly BoardPrinter[]): Need[] {
  const told = data.plates.verdicts();
  return platesIn(data, printers).flatMap(({ gate, name, clusterId, printerId }) => {
    const judges = judgesOf(gate);
    if (judges === null || !isPlateToClear(gate, rules.gate)) return [];
    const last = printToClear(gate);
    const print = data.printOf(last ?? '');
    const verdict = told.get(last ?? '');
    const isJudged = verdict !== undefined && verdict.at > 0 && judges === last;
    const isPart = print?.attempt.state === 'finished' || (print?.attempt.state === 'printing' && mayBeGood(gate));
    const named = print
      ? { itemId: print.item.itemId, copy: print.attempt.copy, attempt: print.attempt.attempt }
      : { judges };
    const base = { clusterId, ...(printerId !== null && { printerId }), ...named };
    const say = (label: Sentence, properties: object): Answer => ({
      label,
      action: 'plate-cleared',
      properties: { ...base, ...properties },
    });
    const { perPrint = 1 } = print?.attempt ?? {};
    const all = perPrint > 1 ? { goodParts: perPrint } : {};
    return [
      {
        id: `plate/${queueId}/${gate.gateId}/${last === null ? judges : gate.closings}`,
        kind: 'plate' as const,
        text: isPart
          ? phrase`${name}: take off ${nameOf(print.item)}, and say whether it is good.`
          : phrase`${name}: take off what lies on the plate.`,
        ...{ clusterId, printerId, itemId: print?.item.itemId ?? null },
        since: timeOf(last === null ? gate.unread?.since : gate.ended?.at),
        answers: isJudged
          ? [say(CLEAR, { good: verdict.good, ...(verdict.parts !== undefined && { goodParts: verdict.parts }) })]
          : isPart
            ? [say(GOOD, { good: true, ...all }), say(BAD, { good: false })]
            : [say(CLEAR, { good: true })],
      },
    ];
  });
}

/** The plate gates of the queue's printers, and those of others that hold a part whose copy waits for its verdict. */
function platesIn(data: QueueContext['data'], printers: readonly BoardPrinter[]) {
  const seen = new Set<string>();
  const ours = printers.flatMap((printer) => {
    const { clusterId, printerId } = printer;
    const gate = data.gates.of(clusterId, printerId);
    // Printers without an id of their own share a gate. A cluster that can't be read may show one that is elsewhere.
    if (gate?.clusterId !== clusterId || seen.has(gate.gateId)) return [];
    seen.add(gate.gateId);
    return [{ gate, name: labelOf(printer), clusterId, printerId }];
  });
  // Such a printer has left the account, the queue, or its group.
  const others = data.gates.all
    .filter((gate) => !seen.has(gate.gateId) && data.isAwaited(printToClear(gate)) && !data.gates.isReplaced(gate))
    .map((gate) => {
      const { clusterId, clusterName, printerId } = gate;
      return { gate, name: clusterName ?? clusterId, clusterId, printerId };
    });
  return [...ours, ...others];
}

/** Whether a print whose end is not recorded yet may have finished. */
const mayBeGood = ({ ended }: PlateGate): boolean => ended?.outcome === 'finished' || ended?.outcome === 'unknown';

// Items

const nameOf = ({ name, itemId }: ItemRecord): string => name ?? itemId;

function doubts(record: ItemRecord): Need[] {
  const { itemId } = record;
  return copiesIn(record, 'unknown')
    .slice(0, MOST.copies)
    .flatMap((copy) => {
      const found = lastAttempt(record, copy);
      if (!found) return [];
      const { attempt, clusterId, clusterName, printerId, dispatchedAt, assignedAt } = found;
      const answer = (label: Sentence, outcome: string): Answer => ({
        label,
        action: 'settle',
        properties: { itemId, copy, attempt, outcome },
      });
      return [
        {
          id: `unknown/${itemId}/${copy}/${attempt}`,
          kind: 'unknown' as const,
          text: phrase`Nobody knows whether ${clusterName ?? clusterId} has printed ${nameOf(record)}: look there.`,
          ...{ clusterId, printerId, itemId, since: timeOf(dispatchedAt ?? assignedAt) },
          answers: [answer(PRINTED, 'printed'), answer(NOT_PRINTED, 'not-printed')],
        },
      ];
    });
}

function failures(record: ItemRecord): Need[] {
  const { itemId } = record;
  return copiesIn(record, 'failed')
    .slice(0, MOST.copies)
    .flatMap((copy) => {
      const found = lastAttempt(record, copy);
      if (!found) return [];
      const { attempt, clusterId, clusterName, printerId, endedAt, reason } = found;
      const printer = clusterName ?? clusterId;
      return [
        {
          id: `failed/${itemId}/${copy}/${attempt}`,
          kind: 'failed' as const,
          text: reason
            ? phrase`The print of ${nameOf(record)} on ${printer} failed: ${Sentence.from(reason)}`
            : phrase`The print of ${nameOf(record)} on ${printer} failed.`,
          ...{ clusterId, printerId, itemId, since: timeOf(endedAt) },
          answers: [{ label: AGAIN, action: 'retry' as const, properties: { itemId, copy, attempt } }],
        },
      ];
    });
}

function blockades({ view }: QueueContext, record: ItemRecord): Need[] {
  const { itemId, blocked } = record;
  const isInDoubt = copiesIn(record, 'unknown').length > 0;
  if (!blocked.is || (isInDoubt && !record.prints.some(isStuck))) return [];
  const isGone = record.files.every((file) => file.isGone);
  const helps = isGone || record.prints.some(isStuck) ? [] : remedies(view, record);
  const remove: Answer = { label: REMOVE, action: 'remove', properties: { itemId } };
  return [
    {
      ...OF_NOTHING,
      ...{ id: `blocked/${itemId}/${blocked.count}`, kind: 'blocked' as const, itemId },
      text: whyBlocked(view, record, helps.length > 0),
      since: timeOf(blocked.at),
      answers: [...helps, remove],
    },
  ];
}

function whyBlocked(view: QueueContext['view'], record: ItemRecord, canChoose: boolean): Sentence {
  const name = nameOf(record);
  const reasons = view.item(record, 1).waitingFor;
  const [reason] = reasons;
  if (!reason) return phrase`${name} can't be printed: remove it, or change it.`;
  // The advice of the queue's own sentence can't be followed on a page.
  if (reason.code === 'MODEL_UNKNOWN' && canChoose)
    return phrase`${name}: the file does not name its printer model. Choose a printer that suits it.`;
  const [common] = reasons.filter(({ printers }) => printers > 0).sort((one, other) => other.printers - one.printers);
  if (reason.code === 'NO_PRINTER' && common)
    return phrase`${name}: no printer of the queue could take it. For example: ${common.text}`;
  return phrase`${name}: ${reason.text}`;
}

/** Answers that make a blocked item printable, as far as the printers are known, by the state of their configurations. */
const known = new WeakMap<ItemRecord, { stamp: unknown; answers: readonly Answer[] }>();

function remedies(view: QueueContext['view'], record: ItemRecord): readonly Answer[] {
  const before = known.get(record);
  const stamp = view.configuration;
  if (before?.stamp === stamp) return before.answers;
  const answers = [...printOn(view, record), ...printAnyway(view, record)];
  known.set(record, { stamp, answers });
  return answers;
}

const updateTo = (label: Sentence, { itemId }: ItemRecord, require: Require): Answer => ({
  label,
  action: 'update',
  properties: { itemId, require },
});

/** One printer that the item does not name, or whose model the file does not state. */
function printOn(view: QueueContext['view'], record: ItemRecord): Answer[] {
  const seen = new Set<string>();
  return view.input.printers.flatMap((printer) => {
    const { clusterId, model } = printer;
    if (seen.has(clusterId) || seen.size >= MOST.printers) return [];
    const isUnknown = view.requires(record).every(({ models }) => models === null);
    if (isUnknown && model === null) return [];
    const require: Require = {
      ...record.require,
      printers: [clusterId],
      ...(isUnknown && model !== null && { models: [model] }),
    };
    if (!view.suits(record, require, printer)) return [];
    seen.add(clusterId);
    return [updateTo(phrase`Print on ${labelOf(printer)}`, record, require)];
  });
}

/** Without the materials or print cores that no printer has, never without the model, the build plate or a tag. */
function printAnyway(view: QueueContext['view'], record: ItemRecord): Answer[] {
  const [needs] = view.requires(record);
  if (!needs) return [];
  const { printers, rules } = view.input;
  const { materials, printCores } = missingPieces(needs, printers, rules);
  if (materials.size + printCores.size === 0) return [];
  const without = <T>(list: readonly T[], missing: ReadonlySet<number>) =>
    list.map((entry, at) => (missing.has(at) ? null : entry));
  const require: Require = {
    ...record.require,
    ...(materials.size > 0 && { materials: without(needs.materials, materials) }),
    ...(printCores.size > 0 && { printCores: without(needs.printCores, printCores) }),
  };
  return printers.some((printer) => view.suits(record, require, printer)) ? [updateTo(ANYWAY, record, require)] : [];
}

// Printers

const TROUBLES: Partial<Record<PrinterReason, 'offline' | 'fault'>> = { OFFLINE: 'offline', FAULT: 'fault' };

function troubles(printer: BoardPrinter): Need[] {
  const { clusterId, printerId, code, text } = printer;
  const kind = code ? TROUBLES[code] : undefined;
  if (!kind || !text) return [];
  const id = `${kind}/${printerKey(printer)}`;
  return [{ ...OF_NOTHING, id, kind, text: phrase`${labelOf(printer)}: ${text}`, clusterId, printerId }];
}

function shortage({ material, missing: { weight }, shortAt }: Forecast['materials'][number]): Need[] {
  const { guid, brand, type, color } = material;
  if (shortAt === null) return [];
  const name = [brand, type, color].filter(Boolean).join(' ') || (guid ?? '');
  const text =
    weight !== null ? phrase`Material is short: ${name}, ${Math.ceil(weight)} g.` : phrase`Material is short: ${name}.`;
  const id = `material/${JSON.stringify([guid, brand, type, color])}`;
  return [{ ...OF_NOTHING, id, kind: 'material', text }];
}
