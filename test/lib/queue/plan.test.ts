import assert from 'node:assert/strict';
import fc from 'fast-check';
import type { PlanInput, PlanItem } from '../../../lib/queue/plan/inputs';
import { Planner } from '../../../lib/queue/plan/plan';
import type { QueuePrinter } from '../../../lib/queue/model/types';
import { mismatchOf } from '../../../lib/queue/plan/suitability';
import { type QueueRules, readHours as hoursOf } from '../../../lib/queue/model/rules';
import { phrase } from '../../../lib/words/sentence';
import {
  feed,
  file,
  inUtc,
  item,
  material,
  NOW,
  obstacle,
  owedParts,
  plan,
  planInput,
  planInputs,
  printer,
  rulesOf,
} from '../../helpers/queue-inputs';

const MINUTE = 60_000;
const RUNS = { numRuns: 2_000 };

/** Whether the service refused an item at a printer a moment ago. */
const isPostponed = ({ refusals }: PlanInput, { itemId }: PlanItem, { clusterId }: QueuePrinter): boolean =>
  refusals.get(itemId)?.has(clusterId) ?? false;

/** Whether a printer suits one of an item's files, compared pair by pair. */
const suits = ({ rules }: PlanInput, { files, refused }: PlanItem, one: QueuePrinter): boolean =>
  !refused.has(one.clusterId) &&
  files.some(
    ({ requirement, isStored }) =>
      isStored &&
      (rules.match === 'lenient' || requirement.models !== null) &&
      mismatchOf(requirement, one, rules) === null,
  );

/** The printers that a plan gives away, by item: a group's assignment may be any of its suitable members. */
function given(input: PlanInput) {
  const { assignments } = plan(input);
  return assignments.map((assignment) => ({
    ...assignment,
    item: input.items.find(({ itemId }) => itemId === assignment.itemId) as PlanItem,
    members: input.printers.filter(
      ({ clusterId, printerId }) =>
        clusterId === assignment.clusterId && (assignment.printerId === null || assignment.printerId === printerId),
    ),
  }));
}

/** Parts that the prints of an item in a plan make. */
const partsMade = (plans: ReturnType<typeof given>, { itemId }: PlanItem) =>
  plans
    .filter((one) => one.itemId === itemId)
    .reduce((sum, { item: one, file: index }) => sum + (one.files[index]?.perPrint ?? 0), 0);

/** Whether a plan leaves copies, or parts, of an item. */
const isLeft = (plans: ReturnType<typeof given>, one: PlanItem) =>
  one.parts
    ? partsMade(plans, one) < one.parts.left
    : plans.filter(({ itemId }) => itemId === one.itemId).length < one.waiting.length;

/** Items that may start, and of which the plan leaves something. */
const leftOver = (input: PlanInput, plans: ReturnType<typeof given>) =>
  input.items.filter((one) => one.obstacle === null && one.notBefore === null && isLeft(plans, one));

/** Inputs in which every cluster has one printer. */
const singles = planInputs.map((input) => ({
  ...input,
  printers: input.printers.filter(
    ({ clusterId }, at) => input.printers.findIndex((one) => one.clusterId === clusterId) === at,
  ),
}));

/** Items that may start and that some printer suits, free or not. */
const plannable = (input: PlanInput) =>
  input.items
    .filter(({ obstacle: reason, waiting, notBefore }) => reason === null && waiting.length > 0 && notBefore === null)
    .filter((one) => input.printers.some((printerOf) => suits(input, one, printerOf)))
    .map(({ itemId }) => itemId);

const assigned = (input: PlanInput) =>
  plan(input).assignments.map(({ itemId, copy, clusterId }) => `${itemId}/${copy} ${clusterId}`);

describe('queue/plan', () => {
  inUtc();

  it('gives no printer and no copy away twice', () => {
    fc.assert(
      fc.property(planInputs, (input) => {
        const plans = given(input);
        const copies = plans.map(({ itemId, copy }) => `${itemId}/${copy}`);
        assert.equal(new Set(copies).size, copies.length);
        for (const { clusterId } of input.printers) {
          const free = input.printers.filter((one) => one.clusterId === clusterId && one.obstacle === null);
          assert.ok(plans.filter((one) => one.clusterId === clusterId).length <= free.length);
        }
        const named = plans.filter(({ printerId }) => printerId !== null);
        assert.equal(new Set(named.map(({ printerId }) => printerId)).size, named.length);
      }),
      RUNS,
    );
  });

  it('gives an item only free printers that suit the file, and only copies that may start', () => {
    fc.assert(
      fc.property(planInputs, (input) => {
        for (const { item: one, copy, file: index, members } of given(input)) {
          const { requirement } = one.files[index] as PlanItem['files'][number];
          const isOwed = one.waiting.includes(copy) || (one.parts !== null && copy >= one.parts.next);
          assert.ok(isOwed && one.obstacle === null && (one.notBefore ?? 0) <= NOW);
          assert.ok(
            members.some(
              (member) =>
                member.obstacle === null &&
                !one.refused.has(member.clusterId) &&
                !isPostponed(input, one, member) &&
                mismatchOf(requirement, member, input.rules) === null,
            ),
          );
          if (input.rules.match === 'strict') assert.notEqual(requirement.models, null);
        }
      }),
      RUNS,
    );
  });

  it('makes no parts that are not owed, and gives the next copies the next numbers', () => {
    fc.assert(
      fc.property(planInputs, (input) => {
        const plans = given(input);
        for (const one of input.items) {
          if (!one.parts) continue;
          const { left, next } = one.parts;
          const prints = plans.filter(({ itemId }) => itemId === one.itemId);
          const last = prints.at(-1);
          if (last) assert.ok(partsMade(plans, one) - (one.files[last.file]?.perPrint ?? 0) < left, one.itemId);
          const numbers = [...one.waiting, ...prints.map((_, at) => next + at)];
          assert.ok(prints.every(({ copy }) => numbers.includes(copy)));
        }
      }),
      RUNS,
    );
  });

  it('takes off what each file makes, and leaves what is not needed any more', () => {
    const few = file({ models: ['X3'] }, 3600, 1);
    const many = file({ models: ['X5'] }, 3600, 4);
    const x3s = ['c1', 'c2', 'c3'].map((clusterId) => printer(clusterId, { model: 'X3' }));
    const x5s = ['c4', 'c5'].map((clusterId) => printer(clusterId, { model: 'X5' }));
    const owes = (left: number) => item('a', { files: [many, few], ...owedParts({ left, first: 1 }, 4) });
    const prints = (left: number, ...printers: QueuePrinter[]) =>
      assigned(planInput({ items: [owes(left)], printers }));
    assert.deepEqual(prints(3, ...x3s), ['a/1 c1', 'a/2 c2', 'a/3 c3']);
    assert.deepEqual(prints(2, ...x3s), ['a/1 c1', 'a/2 c2']);
    assert.deepEqual(prints(5, ...x5s, ...x3s), ['a/1 c4', 'a/2 c5']);
    assert.deepEqual(prints(4, ...x5s), ['a/1 c4']);
    assert.deepEqual(prints(0, ...x5s), []);
  });

  it('plans the items that some printer suits, and no others', () => {
    fc.assert(
      fc.property(planInputs, (input) => assert.deepEqual(plan(input).order.toSorted(), plannable(input))),
      RUNS,
    );
  });

  it('leaves no free printer idle that suits a copy', () => {
    fc.assert(
      fc.property(singles, (input) => {
        const plans = given(input);
        const idle = input.printers.filter(
          ({ obstacle: reason, clusterId }) => reason === null && !plans.some((one) => one.clusterId === clusterId),
        );
        for (const one of leftOver(input, plans)) {
          const takes = (printerOf: QueuePrinter) =>
            suits(input, one, printerOf) && !isPostponed(input, one, printerOf);
          assert.ok(!idle.some(takes), one.itemId);
        }
      }),
      RUNS,
    );
  });

  it('never lets an item of a lower priority pass', () => {
    fc.assert(
      fc.property(singles, (input) => {
        const plans = given(input);
        for (const one of leftOver(input, plans)) {
          for (const { item: other, members } of plans)
            assert.ok(
              other.priority >= one.priority ||
                !members.some((member) => suits(input, one, member) && !isPostponed(input, one, member)),
            );
        }
      }),
      RUNS,
    );
  });

  it('keeps the order among equal items', () => {
    fc.assert(
      fc.property(planInputs, (input) => {
        const plans = given(input);
        const isPlain = ({ itemId, avoid, refused, front, deadline }: PlanItem) =>
          [...avoid.values()].every(({ size }) => size === 0) &&
          refused.size + (input.refusals.get(itemId)?.size ?? 0) === 0 &&
          front === 0 &&
          deadline === null;
        const { order } = plan(input);
        for (const [at, itemId] of order.entries())
          for (const laterId of order.slice(at + 1)) {
            const [one, later] = [itemId, laterId].map(
              (id) => input.items.find((some) => some.itemId === id) as PlanItem,
            );
            if (!one || !later || !isPlain(one) || !isPlain(later) || one.priority !== later.priority) continue;
            if (one.files.length !== later.files.length || one.files.some((some, nth) => some !== later.files[nth]))
              continue;
            assert.ok(one.rank < later.rank);
            if (!plans.some((some) => some.itemId === laterId)) continue;
            assert.ok(!isLeft(plans, one));
          }
      }),
      RUNS,
    );
  });

  it('keeps the only printer of a waiting item from one of the same priority that was added later and has others', () => {
    fc.assert(
      fc.property(singles, (input) => {
        const plans = given(input);
        const placesOf = (one: PlanItem) => input.printers.filter((some) => suits(input, one, some));
        for (const one of leftOver(input, plans)) {
          const [only, ...others] = placesOf(one);
          if (!only || others.length > 0 || isPostponed(input, one, only)) continue;
          for (const { item: other, clusterId } of plans)
            if (clusterId === only.clusterId && other.priority === one.priority && other.added > one.added)
              assert.equal(placesOf(other).length, 1, `${other.itemId} took ${clusterId} from ${one.itemId}`);
        }
      }),
      { numRuns: 5_000 },
    );
  });

  it('keeps a printer that another item needs from all equal items, whenever they were added', () => {
    const [x5, any] = [[file({ models: ['X5'] })], [file({ models: [] })]];
    const items = [
      item('a', { files: any, added: 'a3' }),
      item('b', { files: any, added: 'a1' }),
      item('c', { files: x5, added: 'a2' }),
    ];
    const printers = [printer('c1'), printer('c2', { model: 'X3', obstacle: obstacle('BUSY') })];
    assert.deepEqual(assigned(planInput({ items, printers })), ['c/1 c1']);
  });

  it('makes the same plan whatever it planned before', () => {
    fc.assert(
      fc.property(
        fc.array(planInputs, { minLength: 2, maxLength: 4 }),
        fc.infiniteStream(fc.boolean()),
        (inputs, coins) => {
          const planner = new Planner();
          let last: PlanInput | null = null;
          for (const next of inputs) {
            // Keeps some of the last input's objects, as a queue does from one plan to the next.
            const kept: PlanInput | null = last;
            const input: PlanInput = kept
              ? {
                  ...next,
                  rules: kept.rules,
                  items: next.items.flatMap((one) =>
                    coins.next().value
                      ? [kept.items.find(({ itemId }) => itemId === one.itemId) ?? one]
                      : coins.next().value
                        ? [one]
                        : [],
                  ),
                  printers: kept.printers.map((one, at) => (coins.next().value ? one : (next.printers[at] ?? one))),
                }
              : next;
            assert.deepEqual(planner.plan(input), plan(input));
            assert.deepEqual(planner.plan(input).order.toSorted(), plannable(input));
            last = input;
          }
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('makes the same plan as one that has planned nothing before, while time passes and single things change', () => {
    const hour = 60 * MINUTE;
    const changes = fc.record({
      passed: fc.constantFrom(0, 0, MINUTE, hour, 5 * hour, 20 * hour, -2 * hour),
      what: fc.constantFrom('nothing', 'item', 'state', 'spools'),
      which: fc.nat(),
      hours: fc.constantFrom(1, 3, 7, 30),
      notBefore: fc.constantFrom(null, NOW + hour, NOW + 6 * hour),
    });
    fc.assert(
      fc.property(
        planInputs,
        fc.constantFrom<QueueRules['sort'][]>('priority', 'shortest', 'deadline', 'staffed'),
        fc.array(changes, { minLength: 2, maxLength: 8 }),
        (first, sort, steps) => {
          const planner = new Planner();
          const rules = rulesOf({ ...first.rules, sort, staffed: hoursOf('Mon-Fri 08:00-14:00') });
          let input: PlanInput = { ...first, rules };
          for (const { passed, what, which, hours, notBefore } of steps) {
            assert.deepEqual(planner.plan(input), plan(input));
            const [items, printers] = [[...input.items], [...input.printers]];
            const [one, other] = [items[which % items.length], printers[which % printers.length]];
            if (what === 'item' && one) {
              const files = one.files.map((each) => ({ ...each, seconds: hours * 3600 }));
              items[which % items.length] = { ...one, files, notBefore, front: which % 2, priority: which % 3 };
            }
            const at = which % printers.length;
            if (what === 'state' && other)
              printers[at] = { ...other, obstacle: other.obstacle ? null : obstacle('BUSY') };
            if (what === 'spools' && other)
              printers[at] = { ...other, extruders: other.extruders ? null : (first.printers[at]?.extruders ?? null) };
            input = { ...input, items, printers, now: input.now + passed };
          }
          assert.deepEqual(planner.plan(input), plan(input));
        },
      ),
      { numRuns: 1_000 },
    );
  });

  it('finds out that an added item needs more material than any printer has', () => {
    const spool = [feed(null, null, 50)];
    const printers = ['c1', 'c2'].map((clusterId) => printer(clusterId, { extruders: spool }));
    const needs = (volume: number) => item(`v${volume}`, { files: [file({ volumes: [volume] })] });
    const [planner, rules] = [new Planner(), rulesOf()];
    const [small, large] = [needs(10), needs(200)];
    assert.deepEqual(planner.plan(planInput({ items: [small], printers, rules })).order, ['v10']);
    assert.deepEqual(planner.plan(planInput({ items: [small, large], printers, rules })).order, ['v10']);
  });

  it('takes the printers in the chosen order', () => {
    const printers = [
      printer('c1', { lastUsedLived: 5, usedFor: 1 }),
      printer('c2', { lastUsedLived: 3, usedFor: 9 }),
      printer('c3', { lastUsedLived: null, usedFor: 4 }),
    ];
    const first = (rules: object) =>
      plan(planInput({ printers, items: [item('i1')], rules: rulesOf(rules) })).assignments[0]?.clusterId;
    assert.equal(first({ choose: 'least-recently-used' }), 'c3');
    assert.equal(first({ choose: 'fewest-hours' }), 'c1');
    assert.equal(first({ choose: 'list', printers: ['c2', 'c1'] }), 'c2');
    assert.equal(first({ choose: 'list' }), 'c1');
  });

  it('prints the shortest first, what has least slack first, or what fits the staffed hours', () => {
    const items = [
      item('a', { files: [file({}, 3 * 3600)], deadline: NOW + 9 * 60 * MINUTE }),
      item('b', { files: [file({}, 20 * 3600)], deadline: NOW + 22 * 60 * MINUTE }),
      item('c', { files: [file({}, 1 * 3600)] }),
      item('d', { files: [file({}, 10 * 3600)], deadline: null }),
    ];
    const order = (rules: object) =>
      plan(planInput({ items, printers: [printer('c1')], rules: rulesOf(rules) })).order.join('');
    assert.equal(order({}), 'abcd');
    assert.equal(order({ sort: 'shortest' }), 'cadb');
    assert.equal(order({ sort: 'deadline' }), 'bacd');
    // It is noon: c ends in staffed hours, b the next morning; of the others the longer one fills the night.
    assert.equal(order({ sort: 'staffed', staffed: hoursOf('08:00-14:00') }), 'cbda');
    assert.equal(order({ sort: 'staffed' }), 'cadb');
  });

  it('shares what an item owes among the printers that suit when it computes the slack', () => {
    const many = item('a', { files: [file({}, 3600)], waiting: [1, 2, 3, 4], deadline: NOW + 300 * MINUTE });
    const one = item('b', { files: [file({}, 3600)], deadline: NOW + 200 * MINUTE });
    const order = (count: number) =>
      plan(
        planInput({
          items: [one, many],
          printers: ['c1', 'c2', 'c3', 'c4'].slice(0, count).map((id) => printer(id)),
          rules: rulesOf({ sort: 'deadline' }),
        }),
      ).order.join('');
    assert.equal(order(1), 'ab');
    assert.equal(order(4), 'ba');
  });

  it('puts rejected copies at the front of their priority, and the other copies in their place', () => {
    const items = [
      item('a', { waiting: [1] }),
      item('b', { waiting: [3, 2, 4], front: 2 }),
      item('c', { priority: 1 }),
    ];
    const printers = ['c1', 'c2', 'c3', 'c4', 'c5'].map((id) => printer(id));
    const input = planInput({ items, printers });
    assert.deepEqual(assigned(input), ['c/1 c1', 'b/3 c2', 'b/2 c3', 'a/1 c4', 'b/4 c5']);
    assert.deepEqual(plan(input).order, ['c', 'b', 'a']);
  });

  it('prefers printers on which the copy did not fail, and prints on the same one where it is the only free one', () => {
    const failed = item('a', { avoid: new Map([[1, new Map([['c1', 0]])]]) });
    assert.deepEqual(assigned(planInput({ items: [failed], printers: [printer('c1'), printer('c2')] })), ['a/1 c2']);
    assert.deepEqual(assigned(planInput({ items: [failed], printers: [printer('c1')] })), ['a/1 c1']);
  });

  it('prefers the printer of the earliest failure where the copy has failed on every free one', () => {
    const failedOn = (...clusterIds: string[]) =>
      item('a', { avoid: new Map([[1, new Map(clusterIds.map((id, place) => [id, place]))]]) });
    const printers = ['c1', 'c2', 'c3'].map((id) => printer(id));
    for (const order of [
      ['c2', 'c1', 'c3'],
      ['c3', 'c2', 'c1'],
      ['c1', 'c3', 'c2'],
    ])
      assert.deepEqual(assigned(planInput({ items: [failedOn(...order)], printers })), [`a/1 ${order[0]}`]);
  });

  it('prints the first alternative that suits a free printer', () => {
    const one = item('a', { files: [file({ models: ['X5'] }), file({ models: ['X3'] })] });
    const fileOf = (...printers: QueuePrinter[]) => plan(planInput({ items: [one], printers })).assignments[0]?.file;
    const [x5, x3] = [printer('c1', { model: 'X5' }), printer('c2', { model: 'X3' })];
    assert.equal(fileOf(x3, x5), 0);
    assert.equal(fileOf(x3, { ...x5, obstacle: obstacle('BUSY') }), 1);
  });

  it('lets the service choose among the members of a group, unless only one suits', () => {
    const red = (clusterId: string, printerId: string, model = 'X5') => printer(clusterId, { printerId, model });
    const items = [item('a', { waiting: [1, 2, 3] })];
    const printerIds = (...printers: QueuePrinter[]) =>
      plan(planInput({ items, printers })).assignments.map(({ printerId }) => printerId);
    assert.deepEqual(printerIds(red('g', 'p1'), red('g', 'p2')), [null, null]);
    assert.deepEqual(printerIds(red('g', 'p1'), red('g', 'p2', 'X3')), ['p1']);
    assert.deepEqual(printerIds(red('g', 'p1'), { ...red('g', 'p2'), obstacle: obstacle('BUSY') }), [null]);
  });

  it('starts no more prints than allowed at a time, and one within the stagger', () => {
    const items = [item('a', { waiting: [1, 2, 3] })];
    const printers = ['c1', 'c2', 'c3'].map((id) => printer(id));
    const starts = (rules: object, state: Partial<PlanInput> = {}) => {
      const { assignments, nextAt } = plan(planInput({ items, printers, rules: rulesOf(rules), ...state }));
      return [assignments.length, nextAt];
    };
    assert.deepEqual(starts({}), [3, Infinity]);
    assert.deepEqual(starts({ maxPrinting: 4 }, { printing: 2 }), [2, Infinity]);
    assert.deepEqual(starts({ maxPrinting: 4 }, { printing: 5 }), [0, Infinity]);
    assert.deepEqual(starts({ stagger: MINUTE }), [1, NOW + MINUTE]);
    assert.deepEqual(starts({ stagger: MINUTE }, { nextStartAt: NOW + 5 }), [0, NOW + 5]);
    assert.deepEqual(starts({}, { obstacle: { code: 'QUEUE_PAUSED', sentence: phrase`It is paused.` } }), [
      0,
      Infinity,
    ]);
  });

  it('waits for the hours and for an item that must not start yet, and keeps their places', () => {
    const rules = rulesOf({ hours: hoursOf('22:00-06:00') });
    const input = planInput({ items: [item('a')], printers: [printer('c1')], rules });
    const night = Date.parse('2026-06-10T22:00:00Z');
    assert.deepEqual(plan(input), { assignments: [], order: ['a'], nextAt: night });
    assert.equal(plan({ ...input, now: night }).assignments.length, 1);
    const later = planInput({ items: [item('a', { notBefore: NOW + 7 })], printers: [printer('c1')] });
    assert.deepEqual(plan(later), { assignments: [], order: [], nextAt: NOW + 7 });
    assert.equal(plan({ ...later, now: NOW + 7 }).assignments.length, 1);
  });
});

const PLATE = obstacle('PLATE_NOT_CLEARED');

function wanted(input: Partial<PlanInput>): string[] {
  const printers = new Planner().wantedPrinters(planInput(input));
  return [...printers].map(({ clusterId }) => clusterId);
}

describe('queue/plan: random farms', () => {
  it('give jobs to printers whose extruders are fed by slots alone, and to groups', () => {
    const counts = { station: 0, group: 0 };
    for (const input of fc.sample(planInputs, { numRuns: 1_500, seed: 7 }))
      for (const { clusterId, itemId, file: index } of plan(input).assignments) {
        const members = input.printers.filter((one) => one.clusterId === clusterId);
        const need = input.items.find((one) => one.itemId === itemId)?.files[index]?.requirement ?? assert.fail();
        /** The printer without its slots. */
        const bare = members.map((member) => {
          const extruders = member.extruders?.map((one) => ({
            ...one,
            sources: one.sources.map((source) =>
              source.slot === null ? source : { ...source, material: material('of no use') },
            ),
          }));
          return { ...member, extruders: extruders ?? null };
        });
        if (bare.every((member) => mismatchOf(need, member, input.rules) !== null)) counts.station++;
        if (members.length > 1) counts.group++;
      }
    assert.ok(counts.station > 5 && counts.group > 20, JSON.stringify(counts));
  });
});

describe('queue/plan: wanted printers', () => {
  const printers = [printer('c1', { obstacle: PLATE }), printer('c2', { model: 'X3' }), printer('c3')];
  const items = [item('a')];

  it('names the printers that suit a waiting item, whatever else keeps them from printing', () => {
    assert.deepEqual(wanted({ items, printers }), ['c1', 'c3']);
    const either = [item('a'), item('b', { files: [file({ models: ['X3'] })] })];
    assert.deepEqual(wanted({ items: either, printers }), ['c1', 'c3', 'c2']);
    assert.deepEqual(wanted({ items: [], printers }), []);
  });

  it('names none for items that are held, must not start yet or owe nothing', () => {
    for (const state of [{ obstacle: obstacle('BUSY') as never }, { notBefore: NOW + 1 }, { waiting: [] }])
      assert.deepEqual(wanted({ items: [item('a', state)], printers }), []);
  });

  it('names none while the queue may start nothing', () => {
    const at = (rules: object, more: Partial<PlanInput> = {}) =>
      wanted({ items, printers, rules: rulesOf(rules), ...more });
    assert.deepEqual(at({ hours: hoursOf('Mon 08:00-09:00') }), []);
    assert.deepEqual(at({ maxPrinting: 1 }, { printing: 1 }), []);
    assert.deepEqual(at({ maxPrinting: 2 }, { printing: 1 }), ['c1', 'c3']);
    assert.deepEqual(at({ stagger: 60_000 }, { nextStartAt: Infinity }), []);
    assert.deepEqual(at({}, { obstacle: { ...PLATE, code: 'QUEUE_PAUSED' } }), []);
  });

  it('leaves out printers with too little material and those that refused, for that item alone', () => {
    const spool = (volumeLeft: number) => ({ extruders: [feed(null, null, volumeLeft)] });
    const [low, full] = [printer('c1', { ...spool(100), obstacle: PLATE }), printer('c2', spool(1000))];
    const rules = rulesOf({ match: 'lenient', material: 'any' });
    const of = (...items: PlanInput['items']) => wanted({ items, printers: [low, full], rules });
    const needs = (volume: number) => item(`v${volume}`, { files: [file({ volumes: [volume] })] });
    assert.deepEqual(of(needs(200)), ['c2']);
    assert.deepEqual(of(needs(200), needs(50)), ['c2', 'c1']);
    const refused = item('r', { files: [file({ volumes: [1] })], refused: new Set(['c1']) });
    assert.deepEqual(of(refused), ['c2']);
    assert.deepEqual(of(refused, needs(50)), ['c2', 'c1']);
  });
});
