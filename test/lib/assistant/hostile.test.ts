import assert from 'node:assert/strict';
import { Assistant, type Question } from '../../../lib/assistant/assistant';
import { parseMessage, replyTo } from '../../../lib/assistant/protocol';
import { TOOLS } from '../../../lib/assistant/tools';
import type { Client } from '../../../lib/client';
import { systemClock } from '../../../lib/time/clock';
import { startSimulator, type Simulator } from '../../../simulator';
import { TEXTS } from '../../helpers/hostile-texts';
import { MemoryStore } from '../../helpers/memory-store';
import { storeElsewhere } from '../../helpers/print-request';
import { signedInClient } from '../../helpers/simulated-client';
import { TurnedTime } from '../../helpers/turned-time';

const REQUESTS = 1_000;

describe('lib/assistant: hostile requests', () => {
  let time: TurnedTime;
  let simulator: Simulator;
  let store: MemoryStore;
  let client: Client;
  let asked: Question[];
  let assistant: Assistant;

  beforeEach(async () => {
    time = new TurnedTime();
    simulator = await startSimulator({ now: time.now, printers: 1, accessTokenLifetime: 1e7, actionDelay: 0 });
    store = new MemoryStore();
    client = await signedInClient(simulator, { store, clock: systemClock });
    asked = [];
    assistant = new Assistant({
      ...{ allow: 'ask', expires: 1e9, nodeId: 'node', store, scope: client.scope, clock: systemClock },
      workshop: { client, queue: null, prices: null, nameOf: () => Promise.resolve('Printer 1') },
      ...{ signal: new AbortController().signal, translate: String, warn: () => undefined },
      ...{ ask: (question) => void asked.push(question), report: () => undefined },
    });
  });
  afterEach(async () => {
    await time.until(client.close());
    await simulator.close();
    time.restore();
  });

  it('share one list of printers, however many come at the same time', async () => {
    const call = (name: string) => assistant.call(name, {}, null);
    const names = ['list_printers', 'list_materials'];
    const results = await time.until(Promise.all(Array.from({ length: 60 }, (_, nth) => call(names[nth % 2] ?? ''))));
    assert.ok(results.every(({ isError }) => !isError));
    assert.equal(simulator.requests.count('clusters'), 1);
    const [printers, materials] = results.map(({ structured }) => structured as { printers?: []; materials?: [] });
    assert.deepEqual([printers?.printers?.length, (materials?.materials?.length ?? 0) > 0], [1, true]);
  });

  it('change nothing and stop nothing, each within the limit of calls', async () => {
    const server = {
      ...{ version: '1', instructions: '', tools: () => assistant.tools() },
      call: assistant.call.bind(assistant),
    };
    const reply = (message: unknown) =>
      time.until(replyTo(server, { 'mcp-protocol-version': '2025-11-25' }, parseMessage(JSON.stringify(message))));
    const callOf = (name: unknown, given: unknown) => ({
      ...{ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name, arguments: given } },
    });
    const clusterId = simulator.world.clusters()[0]?.clusterId ?? '';
    const good = { clusterId, jobId: storeElsewhere(simulator, 'vase.gcode'), key: 'good' };
    await reply(callOf('print_stored_job', good));
    const records = async () => (await store.list(['assistant-request'], { limit: 100 })).entries;
    const before = JSON.stringify(await records());

    const values: unknown[] = [
      ...TEXTS.map(([, text]) => text.slice(0, 10_000)),
      ...[0, -1, 1e308, true, null, [], {}],
    ];
    const acting = TOOLS.filter(({ acts, queue }) => acts && !queue);
    for (let at = 0; at < REQUESTS; at += 1) {
      const tool = acting[at % acting.length] ?? assert.fail();
      const value = values[at % values.length];
      const names = Object.keys(tool.input.properties);
      const name = names[at % names.length] ?? '';
      // One argument is hostile; a key or a handle may be any text, so the others are no good either.
      const given = {
        ...Object.fromEntries(names.map((one) => [one, `no such ${one}`])),
        dryRun: false,
        [name]: value,
      };
      const { status, body } = await reply(callOf(at % 7 === 0 ? value : tool.name, at % 11 === 0 ? value : given));
      assert.ok(status < 500, `${at}: ${status}`);
      const { error, result } = body as { error?: object; result?: { isError?: boolean } };
      assert.ok(error ?? result?.isError, `${at}: ${JSON.stringify(body)}`);
      assert.doesNotMatch(JSON.stringify(body), /signature|Bearer/);
      await time.pass(1);
    }
    assert.equal(JSON.stringify(await records()), before);
    assert.deepEqual(
      [asked.length, simulator.requests.count('print'), simulator.requests.count('jobAction')],
      [1, 0, 0],
    );
    await time.until(assistant.answer(asked[0]?.requestId, true));
    await time.pass(60);
    assert.equal(simulator.requests.count('print'), 1);
  });
});
