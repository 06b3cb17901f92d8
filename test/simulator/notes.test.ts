import assert from 'node:assert/strict';
import { Bench, call, type Reply, type Wire } from './support';

describe('simulator: notes', () => {
  let bench: Bench;
  beforeEach(async () => (bench = await Bench.start()));
  afterEach(() => bench.simulator.close());

  const clusterNote = (data: unknown): Promise<Reply> =>
    bench.api('POST', `/connect/v1/clusters/${bench.clusterId()}/note`, data);
  const listed = async (): Promise<Wire> => (await bench.api('GET', '/connect/v1/clusters')).json.data[0];

  it('sets the note about a cluster, and shows it in its record', async () => {
    assert.equal('note' in (await listed()), false);
    for (const note of ['x', 'Nozzle replaced on Monday', 'ü'.repeat(3500)]) {
      const { status, json } = await clusterNote({ data: { note: { note } } });
      assert.deepEqual([status, json.data.note], [200, { note }]);
      assert.deepEqual((await listed()).note, { note });
    }
    bench.simulator.world.setNote(1, null);
    assert.equal('note' in (await listed()), false);
  });

  for (const [what, body, code, field] of [
    ['no body', undefined, 'requiredField', 'note'],
    ['no note', { data: {} }, 'requiredField', 'note'],
    ['a bare string', { data: { note: 'x' } }, 'invalidValue', 'note'],
    ['an object without a note', { data: { note: {} } }, 'requiredField', 'note'],
    ['an empty note', { data: { note: { note: '' } } }, 'invalidValue', 'note'],
    ['a number', { data: { note: { note: 5 } } }, 'invalidValue', 'note'],
    ['3501 characters', { data: { note: { note: 'x'.repeat(3501) } } }, 'invalidValue', 'note'],
    ['a further field', { data: { note: { note: 'x', more: 1 } } }, 'unexpectedField', 'more'],
    ['a further field beside it', { data: { note: { note: 'x' }, more: 1 } }, 'unexpectedField', 'more'],
  ] as const)
    it(`refuses ${what} as the note about a cluster`, async () => {
      const { status, json } = await clusterNote(body);
      assert.deepEqual([status, json.errors[0].code, json.errors[0].meta.field_name], [400, code, field]);
      assert.equal('note' in (await listed()), false);
    });

  it('sets and removes the note about a print, and shows it wherever the print is', async () => {
    const uuid = await bench.print(await bench.upload(';TIME:600\n'));
    const path = `/connect/v1/clusters/${bench.clusterId()}/print_jobs/${uuid}`;
    const seen = async (): Promise<unknown[]> => [
      (await bench.api('GET', path)).json.data.note,
      (await bench.status()).print_jobs[0].note,
      (await bench.api('GET', '/connect/v1/print_jobs')).json.data[0].note,
    ];
    for (const note of ['For the fair', 'x'.repeat(500), '']) {
      const { status, json } = await bench.api('POST', path, { data: { note } });
      const shown = note === '' ? undefined : note;
      assert.deepEqual([status, json.data.note], [200, shown]);
      assert.deepEqual(await seen(), [shown, shown, shown]);
    }
  });

  it('refuses all notes about a print but those of up to 500 characters', async () => {
    const uuid = await bench.print(await bench.upload(';TIME:600\n'));
    const path = `/connect/v1/clusters/${bench.clusterId()}/print_jobs/${uuid}`;
    for (const [body, code] of [
      [undefined, 'requiredField'],
      [{ data: {} }, 'requiredField'],
      [{ data: { note: 5 } }, 'invalidValue'],
      [{ data: { note: null } }, 'invalidValue'],
      [{ data: { note: { note: 'x' } } }, 'invalidValue'],
      [{ data: { note: 'x'.repeat(501) } }, 'invalidValue'],
      [{ data: { note: 'x', more: 1 } }, 'unexpectedField'],
    ] as const) {
      const { status, json } = await bench.api('POST', path, body);
      assert.deepEqual([status, json.errors[0].code], [400, code], JSON.stringify(body)?.slice(0, 40));
    }
    assert.equal('note' in (await bench.status()).print_jobs[0], false);
  });

  it('refuses notes from another workspace', async () => {
    const uuid = await bench.print(await bench.upload(';TIME:600\n'));
    const { apiUrl, users } = bench.simulator;
    const headers = { authorization: `Bearer ${users[1]!.apiToken}`, 'content-type': 'application/json' };
    for (const [path, data] of [
      ['note', { note: { note: 'x' } }],
      [`print_jobs/${uuid}`, { note: 'x' }],
    ] as const) {
      const url = `${apiUrl}/connect/v1/clusters/${bench.clusterId()}/${path}`;
      assert.equal((await call(url, { method: 'POST', headers, body: JSON.stringify({ data }) })).status, 404);
    }
    assert.equal('note' in (await listed()), false);
  });

  it('refuses notes about unknown clusters and prints', async () => {
    const unknown = { data: { note: { note: 'x' } } };
    assert.equal((await bench.api('POST', '/connect/v1/clusters/x/note', unknown)).status, 404);
    const path = `/connect/v1/clusters/${bench.clusterId()}/print_jobs/00000000-0000-4000-8000-000000000000`;
    assert.equal((await bench.api('POST', path, { data: { note: 'x' } })).status, 404);
  });

  it('fails to set a note by a fault on the wire', async () => {
    const uuid = await bench.print(await bench.upload(';TIME:600\n'));
    bench.simulator.faults.add({ endpoint: 'clusterNote', status: 503 });
    bench.simulator.faults.add({ endpoint: 'printJobNote', status: 500 });
    assert.equal((await clusterNote({ data: { note: { note: 'x' } } })).status, 503);
    const path = `/connect/v1/clusters/${bench.clusterId()}/print_jobs/${uuid}`;
    assert.equal((await bench.api('POST', path, { data: { note: 'x' } })).status, 500);
  });
});
