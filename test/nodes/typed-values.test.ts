import assert from 'node:assert/strict';
import { readNodes } from '../../scripts/nodes.mjs';
import { startSimulator, type Simulator } from '../../simulator';
import { catchNode, Flow, helperNode, type Definition } from '../helpers/flow';

/** What the JavaScript engine says about code and values. */
const OF_ENGINE = /Cannot read|undefined|Unexpected|is not a function|not iterable|Expected property|is not valid JSON/;

const WRONG: [value: string, type: string, message: RegExp][] = [
  [
    '/prints/part.gcode',
    'msg',
    /reads msg\.\/prints\/part\.gcode, which does not exist: .* the type string for a path/,
  ],
  ['C:\\prints\\part', 'msg', /which does not exist: .* the type string for a path/],
  ['order.file.name', 'msg', /reads msg\.order\.file\.name, which does not exist/],
  ['a b', 'msg', /which does not exist/],
  // A blank printer means all of them, and a blank key none, so one without a value is named.
  ['order.file', 'flow', /^The setting (cluster has no value at the deploy|\w+ reads flow\.order\.file, which)/],
  ['{', 'json', /is not valid for its type/],
  ['$undefined(', 'jsonata', /^The expression of the setting \w+ can't be evaluated/],
  ['$sum("a")', 'jsonata', /^The expression of the setting \w+ can't be evaluated/],
];

describe('nodes: settings that no message can fulfil', () => {
  let simulator: Simulator;
  let flow: Flow;
  before(async () => {
    simulator = await startSimulator({ autoApprove: true, printers: 3 });
    flow = await Flow.start(simulator);
  });
  after(async () => {
    await flow.stop();
    await simulator.close();
  });

  for (const { type, name, definition } of readNodes()) {
    const typed = Object.entries(definition.properties).filter(([, property]) => property.kind === 'typed');
    if (typed.length === 0 || definition.parent === null) continue;

    it(`end the message of ${name} in a sentence that names the setting, never in one of the engine`, async () => {
      const queue = { id: 'queue', type: 'remote-printing-queue', account: 'account' };
      const cases = typed.flatMap(([property]) => WRONG.map((wrong) => [property, ...wrong] as const));
      const nodes: Definition[] = cases.map(([property, value, as], at) => ({
        ...{
          id: `node-${at}`,
          type,
          account: 'account',
          queue: 'queue',
          source: 'file',
          query: 'cluster-status',
          wires: [['results'], []],
        },
        ...{ [property]: value, [`${property}Type`]: as },
      }));
      await flow.deploy([...nodes, helperNode('results'), helperNode('caught'), catchNode(['caught'])], {
        more: [queue],
      });
      const [results, caught] = [flow.listen('results'), flow.listen('caught')];
      const named = new Set<string>();
      for (const at of cases.keys()) flow.send(`node-${at}`, { case: at });
      for (const [at, [property, , , expected]] of cases.entries()) {
        const isIt = (msg: object) => (msg as { case?: number }).case === at;
        const ended = await Promise.race([caught.find(isIt), results.find(isIt)]);
        const { code = '', message = '' } = (ended.error ?? {}) as { code?: string; message?: string };
        assert.doesNotMatch(message, OF_ENGINE, `${property}: ${code}`);
        if (!message.includes(`he setting ${property} `)) continue;
        assert.equal(code, 'INVALID_INPUT');
        assert.match(message, expected);
        named.add(property);
      }
      assert.ok(named.size > 0, 'no setting was read');
    });
  }
});
