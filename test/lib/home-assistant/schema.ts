import assert from 'node:assert/strict';
import schema from './schema.json';

interface Keys {
  required: readonly string[];
  optional: readonly string[];
}

const platforms: Readonly<Record<string, Keys>> = schema.platforms;
const deviceClasses: Readonly<Record<string, Readonly<Record<string, readonly (string | null)[]>>>> =
  schema.deviceClasses;

export interface DiscoveryMessage {
  device: Record<string, unknown> & { identifiers: string[] };
  origin: Record<string, unknown>;
  availability: { topic: string }[];
  availability_mode: string;
  components: Record<string, Record<string, unknown>>;
}

/** Home Assistant drops what it does not know without a word, so an unknown key is a fault as well. */
function checkKeys(what: string, value: object, ...all: Keys[]): void {
  const keys = Object.keys(value);
  for (const key of all.flatMap(({ required }) => required)) assert.ok(keys.includes(key), `${what} lacks ${key}`);
  const known = all.flatMap(({ required, optional }) => [...required, ...optional]);
  for (const key of keys) assert.ok(known.includes(key), `${what} has ${key}, which Home Assistant drops`);
}

const isFilter = (topic: unknown) => typeof topic === 'string' && topic !== '' && !/[+#]|\p{Cc}/u.test(topic);

/** Checks a discovery message by Home Assistant's own schema; returns it. */
export function checkDiscovery(payload: string): DiscoveryMessage {
  const message = JSON.parse(payload) as DiscoveryMessage;
  checkKeys('the message', message, schema.message);
  checkKeys('device', message.device, schema.device);
  assert.ok(message.device.identifiers.length > 0, 'an identifier');
  checkKeys('origin', message.origin, schema.origin);
  assert.ok(['all', 'any', 'latest'].includes(message.availability_mode));
  for (const one of message.availability) checkKeys('availability', one, schema.availability);
  for (const [key, component] of Object.entries(message.components)) checkComponent(key, component);
  const ids = Object.values(message.components).flatMap(({ unique_id }) => unique_id ?? []);
  assert.equal(new Set(ids).size, ids.length, 'unique ids');
  return message;
}

function checkComponent(key: string, component: Record<string, unknown>): void {
  const platform = platforms[String(component.platform)];
  assert.ok(platform, `${key}: no platform ${String(component.platform)}`);
  // Only a platform: removes the component.
  if (Object.keys(component).length === 1) return;
  checkKeys(key, component, schema.entity, platform);
  for (const [name, value] of Object.entries(component)) {
    if (name.endsWith('_topic')) assert.ok(isFilter(value), `${key}.${name}`);
    if (Array.isArray(value)) assert.ok(value.length > 0, `${key}.${name} is empty`);
  }
  const { device_class: deviceClass, unit_of_measurement: unit = null, options, state_class: stateClass } = component;
  const units = deviceClasses[String(component.platform)]?.[String(deviceClass)];
  if (deviceClass !== undefined) assert.ok(units?.includes(unit as string | null), `${key}: ${String(deviceClass)}`);
  if (options !== undefined) assert.deepEqual([deviceClass, unit, stateClass], ['enum', null, undefined], key);
  if (stateClass !== undefined) assert.ok(schema.stateClasses.includes(String(stateClass)), key);
  if (component.entity_category !== undefined)
    assert.ok(schema.entityCategories.includes(String(component.entity_category)), key);
}
