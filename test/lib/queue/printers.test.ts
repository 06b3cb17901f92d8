import assert from 'node:assert/strict';
import {
  BoardCache,
  type BoardInput,
  configurationOf,
  type OpenPrint,
  printerBoard,
} from '../../../lib/queue/plan/printers';
import { phrase } from '../../../lib/words/sentence';
import { observed, type PlateGate } from '../../../lib/queue/model/gate';
import { printerKey, type QueuePrinter } from '../../../lib/queue/model/types';
import * as attempts from '../../../lib/queue/model/item-changes';
import { answer, at, job, observation, type Wire } from '../events/observations';
import { CONTEXT, FILE, GATE, item, NOW, PRINT, RULES } from './items';

const KEY = printerKey({ clusterId: 'C1', printerId: null });
const idle = { uuid: 'P1', machine_variant: 'Maker', status: 'idle', enabled: true };

type Views = BoardInput['views'];

/** An input in which the queue has sent nothing. */
const boardInput = (get: Views['get'], changed: Partial<BoardInput> = {}): BoardInput => ({
  clusterIds: ['C1'],
  views: { get, materialOf: () => null },
  gates: { of: () => undefined },
  refusals: { reasonOf: () => null },
  open: new Map(),
  pausedPrinters: {},
  usage: new Map(),
  rules: RULES,
  now: NOW,
  staleAfter: 120_000,
  ...changed,
});
const unseen: Partial<BoardInput> = { views: { get: () => undefined, materialOf: () => null } };

/** The board after a first status of an idle printer and a second one. */
function board(wire: Wire, changed: Partial<BoardInput> = {}, listed = {}, before: Wire = {}) {
  const gates = new Map<string | null, PlateGate>();
  for (const one of [before, wire]) {
    const { status } = observation(answer({ printers: [idle], ...one }), 0, listed);
    for (const printer of status.printers) {
      const id = status.printers.length === 1 ? null : printer.printerId;
      const gate = observed(gates.get(id) ?? null, status, printer, NOW);
      if (gate) gates.set(id, gate);
    }
  }
  const { status } = observation(answer({ printers: [idle], ...wire }), 0, listed);
  const printers =
    status.printers.length > 0 ? status.printers : observation(answer({ printers: [idle] })).status.printers;
  const of: BoardInput['gates']['of'] = (_, printerId) => gates.get(printerId);
  return printerBoard(boardInput(() => ({ status, printers, age: 0 }), { gates: { of }, ...changed }));
}
const codes = (...given: Parameters<typeof board>) => board(...given).map(({ obstacle }) => obstacle?.code ?? 'free');

/** An open print on C1 whose file is for a model. */
function print(state: 'assigned' | 'dispatched' | 'unknown', model: string | null = null): OpenPrint {
  const of = { copy: 1, attempt: 1 };
  const needs = model === null ? {} : { require: { models: [model] } };
  let record = attempts.assigned(item(needs, { files: [FILE] }), { ...PRINT, copy: 1 }, CONTEXT);
  if (state === 'dispatched') record = attempts.dispatched(record, of, 'mine', CONTEXT);
  if (state === 'unknown') record = attempts.unknown(record, of, CONTEXT);
  const [attempt] = record.prints;
  assert.ok(attempt);
  return { record, attempt };
}
const open = (...given: Parameters<typeof print>) => ({ open: new Map([['C1', [print(...given)]]]) });

describe('queue/printers', () => {
  it('calls a printer free that is idle and has nothing of anyone’s', () => {
    assert.deepEqual(codes({}), ['free']);
    const [printer] = board({});
    assert.deepEqual([printer?.clusterId, printer?.printerId, printer?.model], ['C1', null, 'Maker']);
  });

  it('names a printer without a status by its gate', () => {
    const name = ({ clusterName }: QueuePrinter) => clusterName;
    assert.deepEqual(board({}).map(name), ['Workshop']);
    assert.deepEqual(board({}, unseen).map(name), ['Workshop']);
    assert.deepEqual(board({}, { ...unseen, gates: { of: () => undefined } }).map(name), [null]);
  });

  it('names the first obstacle', () => {
    const printer = (more: Wire) => ({ printers: [{ ...idle, ...more }] });
    const cases: [string, ReturnType<typeof codes>][] = [
      ['BUSY', codes({ ...printer({ status: 'printing' }), print_jobs: [at('x', 'printing', 10)] })],
      ['BUSY', codes({}, open('assigned'))],
      ['BUSY', codes({ print_jobs: [job('mine', 'queued')] }, open('dispatched'))],
      ['BUSY', codes({ print_jobs: [job('x', 'sent_to_printer', { printer_uuid: 'P1' })] })],
      ['BUSY', codes(printer({ status: 'printing' }))],
      ['FOREIGN_JOB', codes({ print_jobs: [job('x', 'queued')] })],
      ['FOREIGN_JOB', codes({ print_jobs: [at('x', 'paused', 10, { printer_uuid: 'P1' })] })],
      ['PLATE_NOT_CLEARED', codes({ recently_completed: [at('a', 'failed', 50)] })],
      ['PLATE_NOT_CLEARED', codes({ print_jobs: [at('a', 'wait_cleanup', 100)], ...printer({ status: 'printing' }) })],
      ['OFFLINE', codes({ is_online: false, printers: [] })],
      ['OFFLINE', codes(printer({ status: 'unreachable' }))],
      ['STALE', codes({}, { staleAfter: -1 })],
      ['STALE', codes({}, unseen)],
      ['DISABLED', codes(printer({ enabled: false }))],
      ['INACTIVE', codes({}, {}, { authorized: false })],
      ['FAULT', codes(printer({ status: 'error' }))],
      ['FAULT', codes(printer({ errors: [{ code: 'E1' }] }))],
      ['FAULT', codes(printer({ faults: [{ code: 'F1', severity: 'critical' }] }))],
      ['MAINTENANCE', codes(printer({ status: 'maintenance' }))],
      ['MAINTENANCE', codes(printer({ maintenance_required: true }))],
      ['PAUSED', codes({}, { pausedPrinters: { [KEY]: { until: null, reason: 'nozzle' } } })],
      ['OUTCOME_UNKNOWN', codes({}, open('unknown'))],
      ['free', codes(printer({ faults: [{ code: 'F1', severity: 'info' }] }))],
    ];
    for (const [expected, found] of cases) assert.deepEqual(found, [expected]);
  });

  it('does not ask for a confirmation at a printer that is offline', () => {
    const asking = { print_jobs: [at('a', 'wait_cleanup', 100)] };
    assert.deepEqual(codes(asking), ['PLATE_NOT_CLEARED']);
    assert.deepEqual(codes({ ...asking, is_online: false }), ['OFFLINE']);
  });

  it('distinguishes in words what has one code', () => {
    const text = (...given: Parameters<typeof board>) => String(board(...given)[0]?.obstacle?.sentence);
    const asking = { print_jobs: [at('a', 'wait_cleanup', 100)] };
    const confirm = { rules: { ...RULES, gate: 'confirm' } } as const;
    assert.equal(text(asking), 'The printer asks for a clear plate: confirm it at the printer.');
    assert.equal(text(asking, confirm), 'Nobody has confirmed yet that the plate is clear.');
    const printing = { print_jobs: [at('x', 'printing', 10)] };
    assert.equal(text(printing), 'The printer is printing.');
    assert.equal(text({ ...printing, is_online: false }), 'The printer had a print when it went offline.');
  });

  it('counts the free members of a group minus its own open dispatches', () => {
    const printers = [idle, { ...idle, uuid: 'P2' }, { ...idle, uuid: 'P3' }];
    assert.deepEqual(codes({ printers }), ['free', 'free', 'free']);
    assert.deepEqual(codes({ printers }, open('dispatched'), {}, { printers }), ['BUSY', 'free', 'free']);
    const mine = { print_jobs: [job('mine', 'queued')] };
    assert.deepEqual(codes({ printers, ...mine }, open('dispatched')), ['BUSY', 'free', 'free']);
    assert.deepEqual(codes({ printers, ...mine }), ['FOREIGN_JOB', 'FOREIGN_JOB', 'FOREIGN_JOB']);
    const printing = { print_jobs: [at('x', 'printing', 10, { printer_uuid: 'P2' })] };
    assert.deepEqual(codes({ printers, ...printing }), ['free', 'BUSY', 'free']);
  });

  it('subtracts an open dispatch of a group from the members that suit its file, or from the one that it names', () => {
    const members = {
      printers: ['P1', 'P2', 'P3'].map((uuid) => ({
        ...idle,
        uuid,
        ...(uuid === 'P1' && { machine_variant: 'Other' }),
      })),
    };
    const own = print('assigned', 'Maker');
    const of = (...prints: OpenPrint[]) => codes(members, { open: new Map([['C1', prints]]) });
    assert.deepEqual(of(own), ['free', 'BUSY', 'free']);
    assert.deepEqual(of(own, own), ['free', 'BUSY', 'BUSY']);
    assert.deepEqual(of({ ...own, attempt: { ...own.attempt, printerId: 'P3' } }), ['free', 'free', 'BUSY']);
  });

  it('sends nothing to a group while the service could choose a printer whose plate was not cleared', () => {
    const members = (status: string) => ({ printers: [idle, { ...idle, uuid: 'P2', status }] });
    const failed = { recently_completed: [at('a', 'failed', 50, { printer_uuid: 'P2' })] };
    const before = members('idle');
    const closed = codes({ ...members('idle'), ...failed }, {}, {}, before);
    assert.deepEqual(closed, ['PLATE_NOT_CLEARED', 'PLATE_NOT_CLEARED']);
    // The service sends nothing to a printer that asks for a clear plate, or that is not idle.
    const asking = { print_jobs: [at('a', 'wait_cleanup', 100, { printer_uuid: 'P2' })] };
    assert.deepEqual(codes({ ...members('idle'), ...asking }, {}, {}, before), ['free', 'PLATE_NOT_CLEARED']);
    assert.deepEqual(codes({ ...members('error'), ...failed }, {}, {}, before), ['free', 'PLATE_NOT_CLEARED']);
  });

  it('keeps what it knows of an offline printer', () => {
    assert.equal(board({ is_online: false, printers: [] })[0]?.model, 'Maker');
  });

  it('distinguishes a changed configuration from the one that the service refused', () => {
    const [one] = board({});
    const [other] = board({ printers: [{ ...idle, configuration: [{ extruder_index: 0, print_core_id: 'AA 0.4' }] }] });
    assert.ok(one && other);
    assert.notEqual(configurationOf(one), configurationOf(other));
  });
});

const statusOf = (clusterId: string, wire: Wire = {}) => ({ ...observation(answer(wire)).status, clusterId });

describe('queue/printers: cache', () => {
  const statuses = new Map([
    ['C1', statusOf('C1')],
    ['C2', statusOf('C2')],
  ]);
  const input = (changed: Partial<BoardInput> = {}) =>
    boardInput(
      (clusterId) => {
        const status = statuses.get(clusterId);
        return status && { status, printers: status.printers, age: 0 };
      },
      { clusterIds: ['C1', 'C2', 'C3'], ...changed },
    );

  it('returns what changed anew, and everything else as it was', () => {
    const cache = new BoardCache();
    const first = cache.printers(input());
    assert.deepEqual(first, printerBoard(input()));
    statuses.set('C2', statusOf('C2', { print_jobs: [at('x', 'printing', 10)] }));
    const second = cache.printers(input());
    assert.deepEqual(second, printerBoard(input()));
    assert.deepEqual(
      second.map((printer, index) => printer === first[index]),
      [true, false, true],
    );
  });

  it('follows pauses, uses, gates and the age of a status', () => {
    const cache = new BoardCache();
    const changes: Partial<BoardInput>[] = [
      {},
      { pausedPrinters: { [KEY]: { until: null, reason: null } } },
      { usage: new Map([[KEY, { lastUsedAt: NOW, usedFor: 1 }]]) },
      { gates: { of: () => ({ ...GATE, clusterName: 'Left' }) } },
      { refusals: { reasonOf: () => ({ code: 'BUSY', sentence: phrase`Refused.` }) } },
      { staleAfter: -1 },
    ];
    for (const changed of changes)
      assert.deepEqual(cache.printers(input(changed)), printerBoard(input(changed)), JSON.stringify(changed));
  });

  describe('differs', () => {
    const extruders = (volume: number) => [{ material: { guid: 'G' }, estimated_material_volume: volume }];
    const cleared = (changed: Partial<BoardInput> = {}) => input({ gates: { of: () => GATE }, ...changed });
    const printing = (percent: number, volume: number) => ({
      printers: [{ uuid: 'P1', status: 'printing', configuration: extruders(volume) }],
      print_jobs: [at('x', 'printing', percent)],
    });
    const idle = (volume: number) => ({
      printers: [{ uuid: 'P1', status: 'idle', configuration: extruders(volume) }],
    });
    const wires: [string, Wire, boolean][] = [
      ['the first status', printing(10, 900), true],
      ['the same once more', printing(10, 900), false],
      ['the progress of a print', printing(20, 800), false],
      ['the end of a print', idle(700), true],
      ['less material in a free printer', idle(600), true],
    ];

    it('ignores the progress of a print, and nothing else', () => {
      const cache = new BoardCache();
      const found = wires.map(([name, wire]) => {
        statuses.set('C1', statusOf('C1', wire));
        return [name, cache.differs(cleared(), 'C1')];
      });
      assert.deepEqual(
        found,
        wires.map(([name, , differs]) => [name, differs]),
      );
    });

    it('compares with the printers of the last plan', () => {
      statuses.set('C1', statusOf('C1'));
      const cache = new BoardCache();
      cache.printers(cleared());
      assert.equal(cache.differs(cleared(), 'C1'), false);
      assert.equal(cache.differs(cleared({ staleAfter: -1 }), 'C1'), true);
    });
  });
});
