import assert from 'node:assert/strict';
import { configurationOf, printerBoard, type BoardInput } from '../../../lib/queue/plan/printers';
import { observed, type PlateGate } from '../../../lib/queue/model/gate';
import { type Attempt, printerKey, type QueuePrinter } from '../../../lib/queue/model/types';
import * as attempts from '../../../lib/queue/model/item-changes';
import { answer, at, job, observation, type Wire } from '../events/observations';
import { CONTEXT, item, NOW, PRINT, RULES } from './items';

const KEY = printerKey({ clusterId: 'C1', printerId: null });
const idle = { uuid: 'P1', machine_variant: 'Maker', status: 'idle', enabled: true };

/** The board after a first look at an idle printer and a second one. */
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
  return printerBoard({
    clusterIds: ['C1'],
    viewOf: () => ({ status, printers, age: 0 }),
    gateOf: (_, printerId) => gates.get(printerId),
    open: new Map(),
    suits: () => true,
    paused: new Map(),
    refusalOf: () => null,
    usage: new Map(),
    rules: RULES,
    now: NOW,
    staleAfter: 120_000,
    ...changed,
  });
}
const codes = (...given: Parameters<typeof board>) => board(...given).map(({ obstacle }) => obstacle?.code ?? 'free');

/** An open attempt on C1. */
function attempt(state: 'assigned' | 'dispatched' | 'unknown', clusterJobId = 'mine'): Attempt[] {
  const of = { copy: 1, attempt: 1 };
  let record = attempts.assigned(item(), { ...PRINT, copy: 1 }, CONTEXT);
  if (state === 'dispatched') record = attempts.dispatched(record, of, clusterJobId, CONTEXT);
  if (state === 'unknown') record = attempts.unknown(record, of, CONTEXT);
  return [...record.prints];
}
const open = (...given: Parameters<typeof attempt>) => ({ open: new Map([['C1', attempt(...given)]]) });

describe('queue/printer-board', () => {
  it('calls a printer free that is idle and has nothing of anyone’s', () => {
    assert.deepEqual(codes({}), ['free']);
    const [printer] = board({});
    assert.deepEqual([printer?.clusterId, printer?.printerId, printer?.model], ['C1', null, 'Maker']);
  });

  it('names a printer without a status by its gate', () => {
    const name = ({ clusterName }: QueuePrinter) => clusterName;
    assert.deepEqual(board({}).map(name), ['Workshop']);
    assert.deepEqual(board({}, { viewOf: () => undefined }).map(name), ['Workshop']);
    assert.deepEqual(board({}, { viewOf: () => undefined, gateOf: () => undefined }).map(name), [null]);
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
      ['STALE', codes({}, { viewOf: () => undefined })],
      ['DISABLED', codes(printer({ enabled: false }))],
      ['INACTIVE', codes({}, {}, { authorized: false })],
      ['FAULT', codes(printer({ status: 'error' }))],
      ['FAULT', codes(printer({ errors: [{ code: 'E1' }] }))],
      ['FAULT', codes(printer({ faults: [{ code: 'F1', severity: 'critical' }] }))],
      ['MAINTENANCE', codes(printer({ status: 'maintenance' }))],
      ['MAINTENANCE', codes(printer({ maintenance_required: true }))],
      ['PAUSED', codes({}, { paused: new Map([[KEY, { until: null, reason: 'nozzle' }]]) })],
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
    const printers = ['P1', 'P2', 'P3'].map((uuid) => ({ ...idle, uuid }));
    const members = { printers };
    const suits: BoardInput['suits'] = (_, { printerId }) => printerId !== 'P1';
    assert.deepEqual(codes(members, { ...open('assigned'), suits }), ['free', 'BUSY', 'free']);
    const [own] = attempt('assigned');
    assert.ok(own);
    const two = new Map([['C1', [own, { ...own, copy: 2 }]]]);
    assert.deepEqual(codes(members, { open: two, suits }), ['free', 'BUSY', 'BUSY']);
    const named = new Map([['C1', [{ ...own, printerId: 'P3' }]]]);
    assert.deepEqual(codes(members, { open: named, suits }), ['free', 'free', 'BUSY']);
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
