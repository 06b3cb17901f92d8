import assert from 'node:assert/strict';
import fc from 'fast-check';
import {
  awaitsVerdict,
  copiesIn,
  countCopies,
  itemStateOf,
  lastAttempt,
  waitingCopies,
} from '../../../lib/queue/model/item';
import * as changes from '../../../lib/queue/model/item-changes';
import type { Attempt, ItemFile, ItemRecord } from '../../../lib/queue/model/types';
import { asPrintingError } from '../../../lib/service/errors';

const NOW = 1_000_000;
const FILE: ItemFile = { jobId: 'job', filename: 'job', size: 1, facts: null, isGone: false };

/** Event of an item, or word of a person; `nth` chooses among the prints that it may concern. */
type Step =
  | { kind: 'assign'; file: number }
  | { kind: 'end'; nth: number; outcome: 'finished' | 'failed' | 'aborted' }
  | { kind: 'recall' | 'lose' | 'leave' | 'take back' | 'show up'; nth: number }
  | { kind: 'judge'; nth: number; good: boolean; parts: number | null }
  | { kind: 'settle'; nth: number; isPrinted: boolean }
  | { kind: 'want'; wanted: number; perPrint: number | null }
  | { kind: 'release' | 'remove' | 'retry' };

const nth = fc.nat({ max: 9 });
const steps: fc.Arbitrary<Step> = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant('assign' as const), file: fc.nat({ max: 1 }) }) },
  {
    weight: 5,
    arbitrary: fc.record({
      kind: fc.constant('end' as const),
      nth,
      outcome: fc.constantFrom('finished' as const, 'finished' as const, 'failed' as const, 'aborted' as const),
    }),
  },
  {
    weight: 12,
    arbitrary: fc.record({
      kind: fc.constantFrom(...(['recall', 'lose', 'leave', 'take back', 'show up'] as const)),
      nth,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      kind: fc.constant('judge' as const),
      nth,
      good: fc.boolean(),
      parts: fc.option(fc.nat({ max: 4 })),
    }),
  },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant('settle' as const), nth, isPrinted: fc.boolean() }) },
  {
    weight: 1,
    arbitrary: fc.record({
      kind: fc.constant('want' as const),
      wanted: fc.integer({ min: 1, max: 12 }),
      perPrint: fc.option(fc.integer({ min: 1, max: 4 })),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ kind: fc.constantFrom('release' as const, 'remove' as const, 'retry' as const) }),
  },
);

/** The record after a step; the same if nobody could take it now. */
function after(record: ItemRecord, step: Step, gate: 'confirm' | 'automatic', at: number): ItemRecord {
  const context = {
    queueId: 'queue',
    now: NOW + at,
    lived: at,
    rules: { gate, retries: 1 },
    machinesAt: () => [],
    begunOn: () => ({}),
  };
  const choose = (fits: (attempt: Attempt) => boolean, place: number) => {
    const found = record.prints.filter(fits);
    return found[place % Math.max(1, found.length)];
  };
  const isOpen = ({ state }: Attempt) => ['assigned', 'dispatched', 'printing', 'unknown'].includes(state);
  const end = { at: NOW + at, printerId: null, seconds: 1, cost: null, used: [], reason: null };
  switch (step.kind) {
    case 'assign': {
      const [copy] = waitingCopies(record);
      if (copy === undefined || record.isHeld) return record;
      return changes.assigned(
        record,
        { copy, file: step.file, clusterId: 'c', clusterName: null, printerId: null },
        context,
      );
    }
    case 'leave': {
      const found = choose(({ state, hasLeft }) => state === 'assigned' && !hasLeft, step.nth);
      if (!found) return record;
      const left = changes.leaving(record, found, context);
      return left === record ? record : changes.dispatched(left, found, `print-${at}`, context);
    }
    case 'take back': {
      const found = choose(({ state, hasLeft }) => state === 'assigned' && !hasLeft, step.nth);
      return found ? changes.unassigned(record, found, context) : record;
    }
    case 'end': {
      const found = choose((one) => isOpen(one) && one.state !== 'assigned', step.nth);
      return found ? changes.ended(record, found, { outcome: step.outcome, ...end }, context) : record;
    }
    case 'recall': {
      const found = choose(({ state }) => state === 'dispatched', step.nth);
      return found ? changes.recalled(record, found, context) : record;
    }
    case 'lose': {
      const found = choose(({ state }) => state === 'dispatched', step.nth);
      return found ? changes.unknown(record, found, context) : record;
    }
    case 'show up': {
      const found = choose(({ state }) => state === 'recalled', step.nth);
      return found ? changes.showedUp(record, found, `late-${at}`, context) : record;
    }
    case 'judge': {
      const found = choose((one) => !isOpen(one) || one.state === 'unknown', step.nth);
      if (!found) return record;
      const parts = step.parts === null ? undefined : Math.min(step.parts, found.perPrint ?? 1);
      const good = parts === undefined ? step.good : parts > 0;
      return changes.judged(record, found, { good, parts }, context);
    }
    case 'settle': {
      const found = choose(({ state }) => state === 'unknown', step.nth);
      const outcome = step.isPrinted ? 'printed' : 'not-printed';
      return found ? changes.settled(record, { outcome, copy: found.copy, attempt: found.attempt }, context) : record;
    }
    case 'want': {
      const { wanted, perPrint } = step;
      return changes.updated(record, { wanted, perPrint: perPrint ?? undefined }, record.rank, context);
    }
    case 'release':
      return changes.released(record, context);
    case 'remove':
      return changes.removed(record, context);
    case 'retry':
      return changes.retried(record, context);
  }
}

/** The formula of the waiting prints, by the record alone (print queue, 9). */
function check(record: ItemRecord): void {
  const { parts, prints, touched, front, copies, isRemoved, endedAt } = record;
  assert.ok(parts);
  let good = 0;
  for (const { state, goodParts, perPrint = 1, copy } of prints) {
    assert.ok((goodParts ?? 0) <= perPrint);
    if (state === 'recalled') continue;
    good += goodParts ?? (state === 'finished' && touched[copy] === 'good' ? perPrint : 0);
  }
  const makes = (copy: number) => lastAttempt(record, copy)?.perPrint ?? parts.perPrint;
  const covered = copiesIn(record, 'active', 'unknown', 'held', 'failed').reduce((sum, copy) => sum + makes(copy), 0);
  const short = Math.max(0, parts.wanted - (parts.cancelled ?? 0) - good - covered);
  const counts = countCopies(record);
  const isGivenUp = isRemoved && endedAt === null;
  assert.equal(counts.waiting, isGivenUp ? 0 : Math.ceil(short / parts.perPrint), 'waiting prints');
  assert.deepEqual(waitingCopies(record).length, counts.waiting);
  for (const copy of Object.keys(touched)) assert.ok(Number(copy) <= copies, `copy ${copy} of ${copies}`);
  for (const copy of front) assert.ok(copy <= copies, `${copy} goes first`);
  assert.ok(canEnd(record), 'a copy that nothing ends');
  const isQuiet = counts.active + counts.unknown === 0;
  if (good >= parts.wanted && isQuiet) assert.equal(itemStateOf(record), 'finished');
  if (itemStateOf(record) === 'finished')
    assert.ok(good >= parts.wanted && isQuiet && counts.failed + counts.held === 0);
  const hasEnded = counts.waiting + counts.active + counts.held + counts.unknown === 0;
  assert.equal(endedAt !== null, hasEnded, 'ended');
  const begun = new Set(prints.map(({ copy }) => copy));
  assert.equal(counts.total, new Set([...begun, ...waitingCopies(record)]).size, 'begun or waiting');
  for (const copy of begun) {
    const standing = prints.filter((one) => one.copy === copy && one.state !== 'finished' && isStanding(one));
    assert.ok(standing.length <= 1, `copy ${copy} has ${standing.length} prints under way`);
    const numbers = prints.filter((one) => one.copy === copy).map(({ attempt }) => attempt);
    assert.equal(new Set(numbers).size, numbers.length, `attempts of copy ${copy}: ${numbers.join(', ')}`);
  }
}

/** Whether every active copy has a print under way, or one that a verdict decides. */
const canEnd = (record: ItemRecord): boolean =>
  copiesIn(record, 'active').every((copy) =>
    record.prints.some((one) => one.copy === copy && (isStanding(one) || awaitsVerdict(record, one))),
  );

const isStanding = ({ state }: Attempt): boolean =>
  state === 'assigned' || state === 'dispatched' || state === 'printing' || state === 'unknown';

describe('queue/parts: any history of an item', () => {
  it('has as many prints waiting as its parts need, ends when enough are good, and never otherwise', () => {
    fc.assert(
      fc.property(
        fc.record({
          wanted: fc.integer({ min: 1, max: 10 }),
          perPrint: fc.integer({ min: 1, max: 4 }),
          other: fc.option(fc.integer({ min: 1, max: 4 })),
          gate: fc.constantFrom('confirm' as const, 'automatic' as const),
        }),
        fc.array(steps, { maxLength: 40 }),
        ({ wanted, perPrint, other, gate }, history) => {
          const files = [FILE, { ...FILE, ...(other !== null && { perPrint: other }) }];
          let record = changes.newItem(
            {
              ...{ itemId: 'a', queueKey: null, name: 'a', files, rank: 'a0', awaitsApproval: false },
              changes: { wanted, perPrint },
            },
            { queueId: 'queue', now: NOW, lived: 0 },
          );
          check(record);
          for (const [at, step] of history.entries()) {
            try {
              record = after(record, step, gate, at + 1);
            } catch (thrown) {
              assert.equal(asPrintingError(thrown).code, 'QUEUE_ITEM_BUSY');
            }
            check(record);
          }
          const ids = record.outbox.map(({ id }) => id);
          assert.equal(new Set(ids).size, ids.length);
        },
      ),
      { numRuns: 6_000 },
    );
  });
});
