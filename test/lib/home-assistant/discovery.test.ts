import assert from 'node:assert/strict';
import { type Announced, discoveryOf, EVENT_TYPES } from '../../../lib/home-assistant/discovery';
import { Topics } from '../../../lib/home-assistant/identity';
import { deviceState } from '../../../lib/home-assistant/state';
import { readClusterStatus } from '../../../lib/service/cluster';
import type { Json } from '../../../lib/service/json-readers';
import { TEXTS } from '../../helpers/hostile-texts';
import { checkDiscovery } from './schema';

const topics = new Topics('homeassistant', 'remote-printing');
const extruder = (index: number): Json => ({
  ...{ extruder_index: index, temperature: 20 },
  material: { guid: 'g', material: 'PLA' },
});
const FULL: Json = {
  ...{ uuid: 'one', status: 'idle', configuration: [extruder(0), extruder(1)], firmware_version: '1.2' },
  ...{ build_plate: { type: 'glass', temperature: 20 }, chamber: { temperature: 20 } },
};
const BARE: Json = { uuid: 'one', status: 'idle', configuration: [] };

interface Finding {
  announced?: Announced;
  wasSeen?: boolean;
  controls?: boolean;
  picture?: boolean;
  name?: string | null;
}

function find(
  printer: Json,
  { announced = {}, wasSeen = true, controls = false, picture = false, name = 'Shelf' }: Finding = {},
) {
  const status = readClusterStatus(
    { is_online: wasSeen, printers: [printer], print_jobs: [] },
    { clusterId: 'c', receivedAt: '', identity: null },
  );
  const { state } = deviceState(status, null);
  const found = discoveryOf({
    facts: { id: 'abc', name, model: 'X1', firmware: '1.2', contentType: 'image/png' },
    ...{ state, wasSeen, announced, topics, offers: { controls, picture }, translate: String },
  });
  return { ...found, message: checkDiscovery(found.payload), state };
}
const keysOf = (...args: Parameters<typeof find>) => Object.keys(find(...args).message.components);

const COMMON = `state job progress time_left ends_at waiting_jobs connection problem maintenance_due event`.split(' ');

describe('lib/home-assistant/discovery', () => {
  it('announces what every printer has, and no more of a printer without parts', () => {
    assert.deepEqual(keysOf(BARE).sort(), [...COMMON].sort());
  });

  it('announces the parts of a printer', () => {
    const parts = `firmware material_1 material_2 material_left_1 material_left_2 temperature_1 temperature_2
      plate_temperature chamber_temperature`;
    assert.deepEqual(keysOf(FULL).sort(), [...COMMON, ...parts.split(/\s+/)].sort());
  });

  it('announces buttons and pictures only where they are wanted', () => {
    const { message } = find(BARE, { controls: true, picture: true });
    const { pause, resume, abort, picture } = message.components;
    for (const [command, button] of Object.entries({ pause, resume, abort }))
      assert.deepEqual(
        [button?.platform, button?.command_topic, button?.payload_press],
        ['button', 'remote-printing/abc/command', command],
      );
    assert.deepEqual([picture?.platform, picture?.content_type], ['image', 'image/png']);
  });

  it('names the device by its id, with what the service says of it', () => {
    const { message } = find(BARE);
    assert.deepEqual(message.device, {
      ...{ identifiers: ['remote_printing_abc'], name: 'Shelf', model: 'X1', sw_version: '1.2' },
    });
    assert.equal(find(BARE, { name: null }).message.device.name, 'Printer');
  });

  it('needs the bridge and the printer, and for connection and problem the bridge alone', () => {
    const { message } = find(FULL);
    const bridge = { topic: 'remote-printing/bridge' };
    assert.deepEqual(message.availability, [bridge, { topic: 'remote-printing/abc/availability' }]);
    assert.equal(message.availability_mode, 'all');
    const alone = Object.entries(message.components).filter(([, { availability }]) => availability !== undefined);
    assert.deepEqual(
      alone.map(([key, { availability }]) => [key, availability]),
      [
        ['connection', [bridge]],
        ['problem', [bridge]],
      ],
    );
  });

  it('has unique ids of the device and the key, and every key as a field of the state', () => {
    const { message, state } = find(FULL, { controls: true, picture: true });
    for (const [key, { unique_id, state_topic }] of Object.entries(message.components)) {
      assert.equal(unique_id, `remote_printing_abc_${key}`);
      if (state_topic === 'remote-printing/abc/state') assert.ok(key in state, key);
    }
  });

  it('keeps the parts of a printer that is offline', () => {
    const { announced, message } = find(FULL);
    const offline = find(BARE, { announced, wasSeen: false });
    assert.deepEqual(Object.keys(offline.message.components).sort(), Object.keys(message.components).sort());
    assert.equal(offline.message.components.material_2?.state_topic, 'remote-printing/abc/state');
  });

  it('removes what a printer lacks from now on', () => {
    const { announced } = find(FULL, { controls: true, picture: true });
    const { message } = find({ ...FULL, configuration: [extruder(0)] }, { announced });
    for (const [key, platform] of [
      ['material_2', 'sensor'],
      ['pause', 'button'],
      ['picture', 'image'],
    ] as const)
      assert.deepEqual(message.components[key], { platform });
    assert.ok(message.components.material_1?.unique_id);
  });

  it('announces all types of events that the pack has', () => {
    assert.deepEqual(find(BARE).message.components.event?.event_types, EVENT_TYPES);
    assert.ok(EVENT_TYPES.includes('job.finished'));
  });

  it('accepts any name of a printer', () => {
    for (const [, name] of TEXTS) find(BARE, { name });
  });
});
