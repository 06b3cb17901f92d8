import type { Cleaning, Cluster, EndWords, Extruder, Material, Mismatch } from './state';
import { NIL_UUID, type Ids } from './ids';
import { COLORS, newMaterial } from './materials';
import { shareLeft, SPOOL } from './spools';
import { newSlots, usualSlots, type NewSlot } from './station';

/** An invented printer model. */
export interface Model {
  /** Name in the `machine_variant` of printers and jobs. */
  display: string;
  /** Name in the cluster's `printer_type`. */
  id: string;
  firmware: string;
  nozzles: string[];
  hot: number;
  plate: number;
  /** Temperature of the heated chamber; null without one. */
  chamber: number | null;
  /** Whether it has a material station and an air manager. */
  station: boolean;
  /** Whether it is of the second brand: a host id of 20 hex digits, and a nil id of the printer (wire facts 1, 6.1). */
  secondBrand: boolean;
  endWords: EndWords;
}

export const MODELS: readonly Model[] = [
  model('Simulated Maker One', 'simulated_maker_one', '8.3.1', ['AA 0.4', 'BB 0.4'], 205, 60),
  {
    ...model('Simulated Maker Duo', 'simulated_maker_duo', '9.0.2', ['AA 0.4', 'AA 0.8'], 215, 65),
    chamber: 38,
    station: true,
  },
  { ...model('Simulated Reproducer Z', 'simulated_reproducer_z', '2.710.5', ['0.4'], 230, 90), secondBrand: true },
  {
    ...model('Simulated Maker Classic', 'simulated_maker_classic', '5.8.2', ['AA 0.4', 'BB 0.4'], 200, 55),
    endWords: 'short',
  },
];

function model(display: string, id: string, firmware: string, nozzles: string[], hot: number, plate: number): Model {
  return {
    display,
    id,
    firmware,
    nozzles,
    hot,
    plate,
    chamber: null,
    station: false,
    secondBrand: false,
    endWords: 'long',
  };
}

/** Model of a cluster, with the cluster's own name and station. */
export function modelOf({ model: name, variant, station }: Cluster): Model {
  const known = MODELS.find(({ id }) => id === name) ?? MODELS[0]!;
  return {
    ...known,
    ...(variant === undefined ? {} : { display: variant, id: variant.toLowerCase().replaceAll(/[^a-z0-9]+/g, '_') }),
    ...(station === undefined ? {} : { station }),
  };
}

/** All capabilities (wire facts 12.6). */
export const CAPABILITIES: readonly string[] = [
  'connect_with_cluster_id',
  'connect_with_pin_code',
  'cluster_account_status',
  'group',
  'status',
  'queue',
  'print_job_action',
  'print_job_action_duplicate',
  'print_job_action_reprint',
  'print_job_action_response',
  'print_job_recent_history',
  'printer_action',
  'printer_action_response',
  'printer_faults',
  'identify',
  'import_material',
  'rename',
  'set_availability',
  'update_firmware',
  'webcam_snapshot',
];

const NAMES = ['Workbench', 'Window', 'Back room', 'Shelf', 'Lab', 'Cellar', 'Attic', 'Studio'];

/** Properties of a new cluster; those that are missing depend on its number. */
export interface NewCluster {
  name?: string;
  /** Id of a model of the simulator; by default the first, which is plain. */
  model?: string;
  /** Name of the model in place of its own, as files state it. */
  variant?: string;
  /** Number of printers; several make a group. */
  printers?: number;
  /** Whether it has a material station. */
  station?: boolean;
  /** Slots of its material station, up to six, which it has then; null for a free one. */
  slots?: NewSlot[];
  /** Material per extruder, or of the slot that feeds it; null for none. */
  materials?: (Partial<Material> | null)[];
  /** Print core per extruder; null for none. */
  printCores?: (string | null)[];
  buildPlate?: string;
  cleaning?: Cleaning;
  endWords?: EndWords;
  mismatch?: Mismatch;
}

/** The five kinds of printers of a new world, which has them in this order, again and again. */
const KINDS: readonly NewCluster[] = [
  {},
  { model: 'simulated_maker_classic' },
  { model: 'simulated_maker_duo' },
  { printers: 2 },
  { model: 'simulated_reproducer_z' },
];

/** Properties of so many printers for a new world. */
export const usualPrinters = (count: number): NewCluster[] =>
  Array.from({ length: count }, (_, index) => KINDS[index % KINDS.length]!);

/** Creates an idle, cold, online cluster. `number` counts from 1 and determines name and colours. */
export function newCluster(
  ids: Ids,
  owner: { organizationId: string; userId: string },
  number: number,
  options: NewCluster,
  since: { now: number; virtual: number },
): Cluster {
  const type = MODELS.find(({ id }) => id === options.model) ?? MODELS[0]!;
  const name = options.name ?? placeName(number);
  const station = options.station ?? (options.slots !== undefined || type.station);
  return {
    clusterId: ids.cloudId(),
    hostGuid: type.secondBrand ? ids.upperHex(20) : ids.uuid(),
    hostName: `simulated-${String(number).padStart(3, '0')}`,
    friendlyName: name,
    model: type.id,
    ...(options.variant === undefined ? {} : { variant: options.variant }),
    ...(station === type.station ? {} : { station }),
    ...owner,
    online: true,
    authorized: true,
    capabilities: [...CAPABILITIES],
    recentHistory: true,
    cleaning: options.cleaning ?? 'automatic',
    endWords: options.endWords ?? type.endWords,
    mismatch: options.mismatch ?? 'ignored',
    dispatch: 'queued',
    actionSwitch: {},
    pictureSwitch: {},
    requiredChanges: [],
    firmware: { version: type.firmware, latest: type.firmware, updateStatus: 'up_to_date' },
    printers: Array.from({ length: Math.max(1, options.printers ?? 1) }, (_, index) => ({
      uuid: type.secondBrand && index === 0 ? NIL_UUID : ids.uuid(),
      name: index === 0 ? name : `${name} ${index + 1}`,
      enabled: true,
      trouble: null,
      faults: [],
      extruders: newExtruders(type, number, station ? { ...options, materials: [null, null] } : options),
      ...(station ? { slots: newSlots(options.slots ?? listedSlots(type, number, options)) } : {}),
      buildPlate: options.buildPlate ?? 'glass',
      warmth: { level: 0, target: 0 as const, since: since.virtual },
      freeSince: since.virtual,
    })),
    queue: [],
    history: [],
    log: [],
    actions: [],
    maintenance: { since: since.now, done: [], due: [] },
    lastReport: null,
  };
}

function placeName(number: number): string {
  const round = Math.floor((number - 1) / NAMES.length);
  return `${NAMES[(number - 1) % NAMES.length]!} printer${round === 0 ? '' : ` ${round + 1}`}`;
}

function newExtruders(type: Model, number: number, { materials, printCores }: NewCluster): Extruder[] {
  return type.nozzles.map((nozzle, index) => ({
    printCore: printCores?.[index] === undefined ? nozzle : printCores[index],
    material: materials?.[index] === undefined ? firstMaterial(number, index) : loaded(materials[index]),
    volumeLeft: Math.round(SPOOL * shareLeft(number, index)),
  }));
}

/** Slots of a station without a list of its own: one per listed material, else of all kinds. */
const listedSlots = ({ nozzles }: Model, number: number, { materials }: NewCluster): NewSlot[] =>
  materials?.flatMap((material, extruder) =>
    material === null ? [] : [{ extruder, material, remaining: shareLeft(number, extruder) }],
  ) ?? usualSlots(number, nozzles.length);

const loaded = (material: Partial<Material> | null): Material | null => material && newMaterial(material);

/** Material of a new printer; the second bay of every second one is empty, so that clients meet both cases. */
function firstMaterial(number: number, index: number): Material | null {
  return index === 1 && number % 2 === 0 ? null : newMaterial({ color: COLORS[(number + index) % COLORS.length]! });
}
