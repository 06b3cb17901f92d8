import { PrintingError } from '../../service/errors';
import { phrase } from '../../words/sentence';
import {
  closed,
  KNOWN_KEPT,
  type PlateGate,
  type PlateVerdict,
  type Source,
  UNSURE,
  VERDICTS_KEPT,
  withUnreadOnly,
} from './gate';

/**
 * The verdict on a print whose copy waits for one, as far as its gate decides it: somebody took the part off for another print,
 * or cleared a plate of which nobody knew the print. Null: the part may lie there still.
 * @param names all names of the print
 */
export function verdictOf(
  { printing, ended, known, verdicts, isShared }: PlateGate,
  names: readonly string[],
): Pick<PlateVerdict, 'good' | 'parts'> | null {
  // A print on another plate says nothing about the part.
  if (isShared && (printing || ended?.clearedAt === null)) return verdicts.find(({ id }) => names.includes(id)) ?? null;
  // The printer's status alone may show the same print again.
  if (printing) return printing.isUnlisted || names.includes(printing.id) ? null : { good: true };
  if (!ended) return null;
  const isLast = names.includes(ended.id);
  if (ended.clearedAt !== null && (isLast || UNSURE.includes(ended.source)))
    return verdicts.find(({ id }) => id === ended.id) ?? { good: true };
  const isFollowed = !UNSURE.includes(ended.source) || known.some((id) => names.includes(id));
  return !isLast && isFollowed ? { good: true } : null;
}

/** The gate of the machine on which a print lies whose copy waits for a verdict: it names that print, whatever it knew before. */
export function holding(gate: PlateGate, id: string, at: number): PlateGate {
  const { printing, ended, known, isShared } = gate;
  if (isShared && known.includes(id) && ended?.clearedAt === null) return gate;
  if (printing || (ended?.id === id && !UNSURE.includes(ended.source))) return gate;
  if (!ended) return closed(gate, id, { outcome: 'finished', source: 'settled', at });
  return {
    ...gate,
    ended: { ...ended, id, source: 'settled' },
    known: [...known.filter((other) => other !== id), id].slice(-KNOWN_KEPT),
  };
}

/**
 * What names the last print on a plate, as long as none is under way: the id of the printing or, where nobody knows it, one
 * that is new with each closing. A verdict that names it can't concern another print. Null: nothing has ended there.
 */
export function judgesOf(gate: Pick<PlateGate, 'printing' | 'ended' | 'closings' | 'unread'>): string | null {
  const { printing, ended, closings, unread } = gate;
  if (printing) return null;
  if (unread && isUnreadAlone(gate)) return ['unread', closings, unread.since].join('/');
  if (!ended) return null;
  const { id, source, at } = ended;
  return id === '' || UNNAMED.includes(source) ? [id || source, closings, at].join('/') : id;
}

/** Id of the last print on a plate that waits to be cleared; null: none is known, or a person has cleared it already. */
export const printToClear = (gate: Pick<PlateGate, 'ended' | 'unread'>): string | null =>
  isUnreadAlone(gate) ? null : (gate.ended?.id ?? null);

/** Whether a plate is not clear only because of what the machine may have printed in a cluster that was not read since. */
const isUnreadAlone = ({ ended, unread }: Pick<PlateGate, 'ended' | 'unread'>): boolean =>
  unread !== undefined && ended?.clearedAt !== null;

/** Sources after which the id of the printing is not known. */
const UNNAMED: readonly Source[] = ['status', 'lost', 'damaged'];

/** A person's verdict on the last print that ended on a plate. */
export interface Judgement {
  good: boolean;
  /** Number of good parts; undefined: all with `good`, none without. */
  parts?: number | undefined;
  /** Names that the print may have; null: the verdict names none. */
  names: readonly string[] | null;
}

/** Facts about the print that a verdict judges. */
export interface JudgedPrint {
  /** Number of parts; null: the print is not of this queue, which then counts none. */
  perPrint: number | null;
  /** Parts that count as good without a number: none of a print that did not finish. */
  whole: number;
  /** Whether a rejection can be taken back, because parts are counted and not copies. */
  isCorrectable: boolean;
  /** The verdict on it so far, at whichever gate that was given. */
  known: PlateVerdict | undefined;
}

/**
 * The gate after a person confirmed a clear plate, and judged the part on it. The same verdict again only clears the plate,
 * and another one corrects it. Throws NOT_ACCEPTED while the printer prints, because the part of the print before is out of
 * reach then, and if the verdict names another print, or one that was judged otherwise; INVALID_INPUT for more parts than the
 * print has.
 */
export function confirmed(
  before: PlateGate,
  { names, ...given }: Judgement,
  { perPrint, whole, isCorrectable, known }: JudgedPrint,
  now: number,
): PlateGate {
  const { ended, printing, verdicts } = before;
  if (printing)
    throw new PrintingError(
      'NOT_ACCEPTED',
      phrase`The printer is printing, so its plate can't be clear: wait for the end.`,
    );
  if (names && !names.includes(judgesOf(before) ?? '')) throw anotherPrint();
  const isOfUnread = names !== null && isUnreadAlone(before);
  // A verdict that names a print does not concern what may have been printed since.
  const gate = before.unread && (names === null || isOfUnread) ? withUnreadOnly(before) : before;
  if (!ended || isOfUnread) return gate;
  const parts = perPrint === null ? undefined : given.parts;
  const good = parts === undefined ? given.good : parts > 0;
  if (perPrint !== null && (parts ?? 0) > perPrint)
    throw new PrintingError(
      'INVALID_INPUT',
      phrase`The property goodParts must be at most ${perPrint}, as the print has no more parts.`,
    );
  const isSame = known !== undefined && countOf(known, whole) === countOf({ good, parts }, whole);
  if (names && known && !isSame)
    throw new PrintingError(
      'NOT_ACCEPTED',
      phrase`The print was judged otherwise already: to correct that, clear the plate without naming the print.`,
    );
  // The part of a copy that was rejected stays so: the copy may be printing again.
  const isNews = !known || (!isSame && (isCorrectable || (known.good && !good)));
  const own = verdicts.find(({ id }) => id === ended.id);
  if (!isNews && own && ended.clearedAt !== null) return gate;
  const verdict = isNews ? { good, ...(parts === undefined ? {} : { parts }) } : known;
  // A clock that was set back does not make a later verdict the earlier one.
  const at = isNews ? Math.max(now, (known?.at ?? 0) + 1) : known.at;
  const others = verdicts.filter((other) => other !== own);
  const after = isNews || !own ? [...others, { ...verdict, id: ended.id, at }].slice(-VERDICTS_KEPT) : verdicts;
  return { ...gate, ended: { ...ended, clearedAt: ended.clearedAt ?? now }, verdicts: after };
}

/** Number of good parts of a verdict; `whole`: with `good` alone. */
const countOf = ({ good, parts }: Pick<Judgement, 'good' | 'parts'>, whole: number): number =>
  parts ?? (good ? whole : 0);

const anotherPrint = (): PrintingError =>
  new PrintingError(
    'NOT_ACCEPTED',
    phrase`Another print has ended on this plate since, or none has: look at the printer again.`,
  );
