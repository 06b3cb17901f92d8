import fc from 'fast-check';
import type { PlanInput, PlanItem } from '../../lib/queue/plan/inputs';
import { type Plan, Planner } from '../../lib/queue/plan/plan';
import type { Requirement } from '../../lib/queue/model/requirement';
import type { PrinterReason, QueuePrinter } from '../../lib/queue/model/types';
import { type QueueRules, readRules } from '../../lib/queue/model/rules';
import type { Feed } from '../../lib/service/feeds';
import type { Material } from '../../lib/service/printer';
import { phrase } from '../../lib/words/sentence';

export const NOW = Date.parse('2026-06-10T12:00:00Z');

export const rulesOf = (rules: Partial<QueueRules> = {}): QueueRules => ({ ...readRules({}), ...rules });

const UNKNOWN = 'unknown' as const;
const SOURCES = {
  models: UNKNOWN,
  printCores: UNKNOWN,
  materials: UNKNOWN,
  buildPlate: UNKNOWN,
  tags: UNKNOWN,
  printers: UNKNOWN,
  volumes: UNKNOWN,
  size: UNKNOWN,
};

export const requirement = (needs: Partial<Requirement> = {}): Requirement => ({
  models: ['X5'],
  printCores: [],
  materials: [],
  buildPlate: null,
  tags: [],
  printers: null,
  volumes: [],
  nozzles: [],
  size: null,
  sources: SOURCES,
  ...needs,
});

export const printer = (clusterId: string, state: Partial<QueuePrinter> = {}): QueuePrinter => ({
  clusterId,
  printerId: null,
  clusterName: clusterId,
  printerName: null,
  model: 'X5',
  extruders: [],
  buildPlate: null,
  tags: [],
  obstacle: null,
  isOutOfSight: ['OFFLINE', 'STALE'].includes(state.obstacle?.code ?? ''),
  lastUsedAt: null,
  lastUsedLived: null,
  usedFor: 0,
  freeAt: null,
  barredUntil: 0,
  isRefused: false,
  isMissing: false,
  ...state,
});

export const obstacle = (code: PrinterReason) => ({ code, sentence: phrase`It can't take a job: ${code}.` });

/** What an extruder without slots can be fed: what is in it. */
export const feed = (printCore: string | null, loaded: Material | null, volumeLeft: number | null): Feed => ({
  printCore,
  sources: [{ slot: null, printCore, material: loaded, volumeLeft }],
});

/** A material of which only the GUID and the name count. */
export const material = (guid: string | null, name: string | null = null, color: string | null = null) => ({
  guid,
  brand: null,
  name,
  color,
  diameter: null,
  density: null,
});

export const file = (needs: Partial<Requirement> = {}, seconds: number | null = 3600, perPrint = 1) => ({
  requirement: requirement(needs),
  seconds,
  isStored: true,
  perPrint,
  weights: [] as (number | null)[],
});

export const item = (itemId: string, state: Partial<PlanItem> = {}): PlanItem => ({
  itemId,
  priority: 0,
  rank: itemId,
  added: itemId,
  deadline: null,
  notBefore: null,
  files: [file()],
  waiting: [1],
  parts: null,
  front: 0,
  avoid: new Map(),
  refused: new Set(),
  obstacle: null,
  ...state,
});

export const planInput = (input: Partial<PlanInput> = {}): PlanInput => ({
  items: [],
  printers: [],
  rules: rulesOf(),
  now: NOW,
  printing: 0,
  inDoubt: 0,
  nextStartAt: 0,
  obstacle: null,
  refusals: new Map(),
  ...input,
});

/** Runs the tests of a suite in UTC. */
export function inUtc(): void {
  const zone = process.env.TZ;
  before(() => {
    process.env.TZ = 'UTC';
  });
  after(() => {
    if (zone === undefined) delete process.env.TZ;
    else process.env.TZ = zone;
  });
}

/** The plan of an input by a planner that has planned nothing before. */
export const plan = (input: PlanInput): Plan => new Planner().plan(input);

const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: null, freq: 3 });
const some = <T>(...choices: T[]) => fc.constantFrom(...choices);

const requirements = fc.record({
  models: maybe(fc.uniqueArray(some('X5', 'X3', 'x7'), { maxLength: 2 })),
  printCores: fc.array(maybe(some('AA 0.4', 'BB 0.4')), { maxLength: 2 }),
  materials: fc.array(maybe(some('red', 'blue').map((guid) => ({ guid, type: 'PLA', color: guid }))), { maxLength: 2 }),
  buildPlate: maybe(some('glass', 'metal')),
  tags: some<string[]>([], [], ['clean']),
  printers: maybe(fc.uniqueArray(some('c0', 'c1', 'c2', 'c3'), { minLength: 1, maxLength: 3 })),
  volumes: fc.array(maybe(some(10, 200)), { maxLength: 2 }),
  nozzles: fc.array(maybe(some(0.4, 0.8)), { maxLength: 2 }),
});

/** The material in an extruder, or in a slot that feeds it. */
const sources = fc.record({
  slot: maybe(fc.nat({ max: 5 })),
  printCore: maybe(some('AA 0.4', 'BB 0.4')),
  material: maybe(some('red', 'blue').map((guid) => material(guid, 'PLA', guid))),
  volumeLeft: maybe(some(50, 500)),
});

const printerStates = fc.record({
  model: maybe(some('X5', 'X3')),
  extruders: maybe(
    fc.array(
      fc.record({
        printCore: maybe(some('AA 0.4', 'BB 0.4')),
        sources: fc.array(sources, { minLength: 1, maxLength: 3 }),
      }),
      { minLength: 1, maxLength: 2 },
    ),
  ),
  buildPlate: maybe(some('glass', 'metal')),
  tags: some<string[]>([], ['clean']),
  obstacle: some(null, null, null, obstacle('BUSY'), obstacle('OFFLINE')),
  lastUsedLived: maybe(some(1, 2, 3)),
  usedFor: fc.nat({ max: 3 }),
});

const fleets = fc
  .array(fc.tuple(fc.nat({ max: 6 }), printerStates), { maxLength: 8 })
  .map((all) => all.map(([cluster, state], at) => printer(`c${cluster}`, { ...state, printerId: `p${at}` })));

const rules = fc
  .record({
    sort: some('priority' as const, 'shortest' as const, 'deadline' as const),
    choose: some('least-recently-used' as const, 'fewest-hours' as const, 'list' as const),
    match: some('strict' as const, 'lenient' as const),
    material: some('guid' as const, 'type-color' as const, 'type' as const, 'any' as const),
  })
  .map(rulesOf);

/** Debt of an item of parts: as many copies as these parts take, the first of which may be one that was printed before. */
export function owedParts({ left, first }: { left: number; first: number }, perPrint: number) {
  const waiting = Array.from({ length: Math.ceil(left / perPrint) }, (_, at) => first + at);
  return { waiting, parts: { left, perPrint, next: first + waiting.length } };
}

/** Inputs in which items compete for the same few printers. */
export const planInputs: fc.Arbitrary<PlanInput> = fc
  .record({ printers: fleets, rules, needs: fc.array(requirements, { minLength: 1, maxLength: 4 }) })
  .chain(({ printers, rules: chosen, needs }) => {
    // Items with equal files share them, as the items of a shop do.
    const files = needs.map((need, at) => file(need, at === 0 ? null : at * 600, at + 1));
    const clusters = some('none', ...printers.map(({ clusterId }) => clusterId));
    const items = fc.array(
      fc.record({
        priority: some(0, 0, 0, 1),
        added: fc.nat({ max: 5 }).map((place) => `a${place}`),
        deadline: maybe(fc.nat({ max: 5 }).map((hours) => NOW + hours * 3_600_000)),
        notBefore: some(null, null, null, NOW + 1000),
        files: fc.array(some(...files), { minLength: 1, maxLength: 2 }),
        owes: fc.oneof(
          some({ waiting: [1] }, { waiting: [2, 3] }, { waiting: [] }),
          fc.record({ left: fc.nat({ max: 6 }), first: some(1, 4) }),
        ),
        front: some(0, 0, 0, 1, 2),
        avoid: fc.oneof(fc.constant<string[]>([]), fc.array(clusters, { maxLength: 3 })),
        refused: fc.oneof(
          { weight: 4, arbitrary: fc.constant<string[]>([]) },
          { weight: 1, arbitrary: fc.array(clusters, { maxLength: 2 }) },
        ),
        postponed: fc.oneof(
          { weight: 4, arbitrary: fc.constant<string[]>([]) },
          { weight: 1, arbitrary: fc.array(clusters, { maxLength: 2 }) },
        ),
        obstacle: some(null, null, null, null, { code: 'HELD' as const, sentence: phrase`It is held.` }),
      }),
      { maxLength: 8 },
    );
    return items.map((all) =>
      planInput({
        printers,
        rules: chosen,
        items: all.map(({ postponed: _, avoid, refused, owes, ...state }, at) => {
          const owed = 'left' in owes ? owedParts(owes, state.files[0]?.perPrint ?? 1) : { ...owes, parts: null };
          const avoided = new Map(
            owed.waiting.slice(0, 1).map((copy) => [copy, new Map(avoid.map((id, place) => [id, place]))]),
          );
          return item(`i${at}`, { ...state, ...owed, rank: `r${at}`, avoid: avoided, refused: new Set(refused) });
        }),
        refusals: new Map(
          all.map(({ postponed }, at) => [`i${at}`, new Map(postponed.map((id) => [id, obstacle('REFUSED')]))]),
        ),
      }),
    );
  });
