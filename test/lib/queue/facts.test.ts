import assert from 'node:assert/strict';
import { FactsReader, isUnread } from '../../../lib/queue/records/facts';
import type { ItemRecord } from '../../../lib/queue/model/types';
import { PrintingError } from '../../../lib/service/errors';
import { Deadline } from '../../../lib/time/deadline';
import { phrase } from '../../../lib/words/sentence';
import { ManualClock } from '../../helpers/manual-clock';
import { ScriptedService } from '../../helpers/scripted-service';
import { FILE, item } from './items';

const PARSED = { job_id: 'job', metadata: { machine: { name: 'Maker' }, print: { estimated_time: 60 } } };
const broken = new PrintingError('SERVICE_ERROR', phrase`Broken.`, { statusCode: 500, outcome: 'unknown' });

describe('queue/facts', () => {
  let clock: ManualClock;
  let closing: Deadline;
  let found: string[];
  const unread: { all: ItemRecord[] } = { all: [] };

  beforeEach(() => {
    clock = new ManualClock();
    closing = new Deadline(clock);
    found = [];
  });
  afterEach(() => closing.end());

  function reader(service: ScriptedService): FactsReader {
    const change = async (itemId: string, facts: (record: ItemRecord) => ItemRecord) => {
      const [file] = facts(item()).files;
      found.push(`${itemId} ${file?.jobId} ${file?.facts?.source}`);
      return item();
    };
    const data = { items: { change }, unread };
    return new FactsReader({ service, clock, data, failed: () => undefined }, closing);
  }
  /** Rounds of the planner, one each time that the reader asks for. */
  async function rounds(facts: FactsReader, items: ItemRecord[], count: number): Promise<void> {
    unread.all = items.filter(isUnread);
    for (let round = 0; round < count && found.length === 0; round++) {
      await facts.read();
      if (Number.isFinite(facts.wait)) await clock.advance(facts.wait);
    }
  }

  it('waits for the service to parse the file of which nothing is known', async () => {
    const service = new ScriptedService({ storedJob: [{ job_id: 'job' }, broken, PARSED] });
    await rounds(reader(service), [item()], 10);
    assert.deepEqual([found, service.count('storedJob')], [['item job service'], 3]);
  });

  it('saves what the service says for every item of a stored job, and prefers it to what the file states', async () => {
    const parsed = { job_id: 'job', metadata: { machine_variant: 'Maker' } };
    const service = new ScriptedService({ storedJob: [PARSED, parsed] });
    const facts = { source: 'file', model: 'X5' } as never;
    const items = ['a', 'b'].map((itemId) => item({}, { itemId, files: [{ ...FILE, facts }] }));
    await rounds(reader(service), items, 10);
    assert.deepEqual([found, service.count('storedJob')], [['a job service', 'b job service'], 2]);
    found = [];
    const silent = new ScriptedService({ storedJob: [{ job_id: 'job' }] });
    await rounds(reader(silent), items, 40);
    assert.deepEqual([found, silent.count('storedJob')], [[], 3]);
  });

  it('asks nothing about read files, ended items and files that are gone', async () => {
    const service = new ScriptedService({ storedJob: [PARSED] });
    const facts = { source: 'service' } as never;
    const known = item({}, { files: [{ ...FILE, facts }] });
    const gone = item({}, { files: [{ ...FILE, isGone: true }] });
    await rounds(reader(service), [known, gone, { ...item(), endedAt: 1 }], 5);
    assert.deepEqual([found, service.count('storedJob')], [[], 0]);
  });

  it('gives up a file that the service never parses', async () => {
    const service = new ScriptedService({ storedJob: [{ job_id: 'job' }] });
    const facts = reader(service);
    await rounds(facts, [item()], 40);
    assert.deepEqual([service.count('storedJob'), facts.wait], [12, Infinity]);
  });
});
