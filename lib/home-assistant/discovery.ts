import type { EventType } from '../events/print-event';
import { phrase, type Sentence } from '../words/sentence';
import { shown } from '../words/shown';
import type { Topics } from './identity';
import { type DeviceState, STATES } from './state';

/** Facts of a printer in a discovery message, beside its figures. */
export interface DeviceFacts {
  id: string;
  name: string | null;
  model: string | null;
  /** Version of the firmware. */
  firmware: string | null;
  /** Media type of its pictures. */
  contentType: string;
}

export interface Offers {
  /** Whether buttons come along. */
  controls: boolean;
  picture: boolean;
}

/** Platforms of announced components by key: what an earlier discovery message of the printer had. */
export type Announced = Readonly<Record<string, string>>;

type Config = Record<string, unknown>;

interface Component {
  platform: string;
  name: Sentence;
  config?: Config;
  /** Entity about the device itself. */
  isDiagnostic?: boolean;
  /** Whether it also has a value while the printer is not available. */
  needsBridgeAlone?: boolean;
}

/** Types of the event entity. */
export const EVENT_TYPES = Object.keys({
  ...{ 'job.queued': 0, 'job.started': 0, 'job.paused': 0, 'job.resumed': 0, 'job.attention': 0, 'job.progress': 0 },
  ...{ 'job.stalled': 0, 'job.finished': 0, 'job.failed': 0, 'job.aborted': 0, 'job.ended': 0 },
  ...{ 'printer.online': 0, 'printer.offline': 0, 'printer.status': 0, 'printer.fault': 0 },
  ...{ 'firmware.available': 0, 'maintenance.due': 0, 'material.changed': 0, 'material.low': 0 },
  ...{ 'printcore.changed': 0, 'plate.awaiting': 0 },
  ...{ 'cluster.added': 0, 'cluster.removed': 0, 'cluster.rebound': 0 },
} satisfies Record<EventType, 0>);

/** Commands, each with its button. */
export const COMMANDS = ['pause', 'resume', 'abort'] as const;
export type Command = (typeof COMMANDS)[number];

const PERCENT: Config = { unit_of_measurement: '%', state_class: 'measurement' };
const WARMTH: Config = { device_class: 'temperature', unit_of_measurement: '°C', state_class: 'measurement' };
const sensor = (name: Sentence, config: Config = {}): Component => ({ platform: 'sensor', name, config });
const warmth = (name: Sentence): Component => ({ ...sensor(name, WARMTH), isDiagnostic: true });
const alarm = (key: string, name: Sentence, deviceClass: string): Component => ({
  platform: 'binary_sensor',
  name,
  // Home Assistant reads None as unknown.
  config: { device_class: deviceClass, value_template: `{{ {true: 'ON', false: 'OFF'}.get(value_json.${key}) }}` },
});

/** Components that every printer has. */
const COMMON: Readonly<Record<string, Component>> = {
  state: sensor(phrase`State`, {
    device_class: 'enum',
    options: STATES,
    json_attributes_template:
      '{{ {"members": value_json.members} | tojson if value_json.members is defined else "{}" }}',
  }),
  job: sensor(phrase`Print`),
  progress: sensor(phrase`Progress`, PERCENT),
  time_left: sensor(phrase`Time left`, { device_class: 'duration', unit_of_measurement: 'min' }),
  ends_at: sensor(phrase`Ends at`, { device_class: 'timestamp' }),
  waiting_jobs: sensor(phrase`Waiting jobs`, { state_class: 'measurement' }),
  connection: {
    ...alarm('connection', phrase`Connection`, 'connectivity'),
    isDiagnostic: true,
    needsBridgeAlone: true,
  },
  problem: {
    ...alarm('problem', phrase`Problem`, 'problem'),
    needsBridgeAlone: true,
  },
  maintenance_due: alarm('maintenance_due', phrase`Maintenance due`, 'problem'),
};
const PROBLEM_TEXT = '{{ {"text": value_json.problem_text} | tojson }}';

/** Components that a printer may lack: by the fields of its state, or by an earlier discovery message. */
function optional(key: string): Component | null {
  const [, kind, number] = /^(material|material_left|temperature)_(\d+)$/.exec(key) ?? [];
  const place = Number(number);
  switch (kind ?? key) {
    case 'firmware':
      return {
        platform: 'update',
        name: phrase`Firmware`,
        config: {
          device_class: 'firmware',
          value_template: "{{ value_json.firmware | tojson if value_json.firmware else '' }}",
        },
        isDiagnostic: true,
      };
    case 'material':
      return sensor(phrase`Material ${place}`);
    case 'material_left':
      return sensor(phrase`Material left ${place}`, PERCENT);
    case 'temperature':
      return warmth(phrase`Temperature ${place}`);
    case 'plate_temperature':
      return warmth(phrase`Plate temperature`);
    case 'chamber_temperature':
      return warmth(phrase`Chamber temperature`);
    default:
      return null;
  }
}

const BUTTONS: Readonly<Record<Command, Sentence>> = {
  pause: phrase`Pause`,
  resume: phrase`Resume`,
  abort: phrase`Abort`,
};

/** Keys of the components that a printer has, apart from those that all have. */
function optionalKeys(state: DeviceState, wasSeen: boolean, announced: Announced): string[] {
  const found = Object.entries(state).flatMap(([key, value]) =>
    optional(key) && (key !== 'firmware' || value !== null) ? [key] : [],
  );
  // A printer that is offline shows no parts, but still has those that it had. An update of its firmware hides the version.
  const had = Object.keys(announced).filter((key) => optional(key) && (key === 'firmware' || !wasSeen));
  return [...new Set([...found, ...had])];
}

/** The discovery message of one printer, and the components that it announces. */
export interface Discovery {
  payload: string;
  announced: Announced;
}

interface DiscoveryInput {
  facts: DeviceFacts;
  state: DeviceState;
  /** Whether the service shows the parts of the printer at present. */
  wasSeen: boolean;
  /** By earlier messages: a component that they had and that this one lacks is removed. */
  announced: Announced;
  offers: Offers;
  topics: Topics;
  translate: (sentence: Sentence) => string;
}

/** Makes the message by which Home Assistant finds a printer: discovery of a device with all its components. Pure. */
export function discoveryOf(input: DiscoveryInput): Discovery {
  const { facts, state, wasSeen, announced, offers, topics, translate } = input;
  const { id, name, model, firmware, contentType } = facts;
  const bridge = { topic: topics.bridge };
  const stateTopic = topics.of(id, 'state');
  const components: Record<string, Config> = {};
  const add = (key: string, component: Component, config: Config) => {
    components[key] = {
      platform: component.platform,
      name: translate(component.name),
      unique_id: `remote_printing_${id}_${key}`,
      ...(component.isDiagnostic && { entity_category: 'diagnostic' }),
      ...(component.needsBridgeAlone && { availability: [bridge] }),
      ...config,
      ...component.config,
    };
  };
  const addFigure = (key: string, component: Component) =>
    add(key, component, {
      state_topic: stateTopic,
      value_template: `{{ value_json.${key} }}`,
      ...((key === 'state' || key === 'problem') && { json_attributes_topic: stateTopic }),
      ...(key === 'problem' && { json_attributes_template: PROBLEM_TEXT }),
    });
  for (const [key, component] of Object.entries(COMMON)) addFigure(key, component);
  for (const key of optionalKeys(state, wasSeen, announced)) {
    const component = optional(key);
    if (component) addFigure(key, component);
  }
  if (offers.picture)
    add(
      'picture',
      { platform: 'image', name: phrase`Picture` },
      {
        image_topic: topics.of(id, 'picture'),
        content_type: contentType,
      },
    );
  add(
    'event',
    { platform: 'event', name: phrase`Event` },
    {
      state_topic: topics.of(id, 'event'),
      event_types: EVENT_TYPES,
    },
  );
  if (offers.controls)
    for (const command of COMMANDS)
      add(
        command,
        { platform: 'button', name: BUTTONS[command] },
        {
          command_topic: topics.of(id, 'command'),
          payload_press: command,
          qos: 1,
        },
      );
  const platforms = Object.entries(components).map(([key, { platform }]) => [key, String(platform)] as const);
  // Home Assistant removes a component of which only the platform is left.
  for (const [key, platform] of Object.entries(announced)) components[key] ??= { platform };
  const payload = {
    device: {
      identifiers: [`remote_printing_${id}`],
      name: shown(name ?? translate(phrase`Printer`)),
      ...(model !== null && { model: shown(model) }),
      ...(firmware !== null && { sw_version: shown(firmware) }),
    },
    origin: {
      name: 'Remote Printing for Node-RED',
      support_url: 'https://github.com/remote-printing/node-red-remote-printing',
    },
    availability: [bridge, { topic: topics.of(id, 'availability') }],
    availability_mode: 'all',
    components,
  };
  return { payload: JSON.stringify(payload), announced: { ...announced, ...Object.fromEntries(platforms) } };
}
