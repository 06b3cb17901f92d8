import assert from 'node:assert/strict';
import { deviceId, Topics } from '../../../lib/home-assistant/identity';
import { readTopicPrefix } from '../../../lib/rules/topics';

/** Home Assistant's pattern of a discovery topic below the prefix (components/mqtt/discovery.py). */
const DISCOVERED = /^\w+\/[a-zA-Z0-9_-]+\/config$/;

describe('lib/home-assistant/identity', () => {
  for (const [clusterId, hostGuid, id] of [
    ['abc=', '1E0F-Aa', '1e0f-aa'],
    ['abc=', null, 'abc'],
    ['Abc=', '00000000-0000-0000-0000-000000000000', 'Abc'],
    ['Abc', '{00000000-0000-0000-0000-000000000000}', 'Abc'],
    ['abc', 'é/+#', 'abc'],
    ['a/b+c#d', '', 'abcd'],
  ] as const)
    it(`is ${id} for the cluster ${clusterId} on the host ${hostGuid}`, () => {
      assert.equal(deviceId(clusterId, hostGuid), id);
      assert.match(new Topics('homeassistant', 'p').config(id).slice('homeassistant/'.length), DISCOVERED);
    });

  it('finds the printer of a command and the birth of Home Assistant in topics', () => {
    const topics = new Topics('homeassistant', 'home/printing');
    assert.equal(topics.commanded('home/printing/abc/command'), 'abc');
    for (const other of [
      'home/printing/abc/state',
      'home/printing//command',
      'home/printing/a/b/command',
      'x/abc/command',
    ])
      assert.equal(topics.commanded(other), null, other);
    assert.equal(topics.isBirth('homeassistant/status'), true);
    assert.equal(topics.isBirth('ha/status'), true);
    assert.equal(topics.isBirth('home/printing/abc/status'), false);
    assert.equal(topics.isBirth('homeassistant/state'), false);
  });

  for (const [setting, prefix] of [
    ['printing', 'printing'],
    [' /home/printing/ ', 'home/printing'],
    ['', null],
    ['/', null],
    ['a//b', null],
    ['a/+/b', null],
    ['a#', null],
    ['$SYS', null],
    ['a\u0000b', null],
    ['x'.repeat(400), null],
  ] as const)
    it(`reads ${JSON.stringify(setting.slice(0, 20))} as ${prefix}`, () => {
      assert.equal(readTopicPrefix(setting), prefix);
      if (prefix === null) assert.throws(() => new Topics('homeassistant', setting), { code: 'NOT_CONFIGURED' });
    });
});
