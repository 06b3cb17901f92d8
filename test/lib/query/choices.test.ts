import assert from 'node:assert/strict';
import { Choices } from '../../../lib/query/choices';
import { ManualClock } from '../../helpers/manual-clock';
import { ScriptedService } from '../../helpers/scripted-service';

describe('query/choices', () => {
  it('offers the newest 1,000 print jobs of all printers', async () => {
    const dated = (nth: number) => new Date(Date.UTC(2026, 0, 1) + nth * 1000).toISOString();
    const jobs = Array.from({ length: 1_200 }, (_, nth) => ({ uuid: `${nth}`, created_at: dated(nth) }));
    const service = new ScriptedService([[{ uuid: 'undated' }, ...jobs]]);
    const closing = new AbortController().signal;
    const offered = await new Choices({ service, clock: new ManualClock(), overrides: {}, closing }).jobs(undefined);
    assert.deepEqual([offered.length, offered[0]?.clusterJobId, offered.at(-1)?.clusterJobId], [1_000, '1199', '200']);
  });
});
