/** The service's answers about a cluster, as in its interface and public answers; the same for all contenders. */

/** Duration of each print, s. */
export const PRINT = 2 * 3600;
const pad = (/** @type {number} */ n, /** @type {number} */ length) => n.toString(16).padStart(length, '0');
export const clusterIdOf = (/** @type {number} */ n) => `cluster-${pad(n, 8)}-4444-8888-${pad(n * 7919, 12)}`;
const printerIdOf = (/** @type {number} */ n) => `${pad(n, 8)}-1111-4222-8333-${pad(n * 104729, 12)}`;
const jobIdOf = (/** @type {number} */ n, /** @type {number} */ job) => `${pad(n, 8)}-5555-4666-8777-${pad(job, 12)}`;
const iso = (/** @type {number} */ seconds) => new Date(seconds * 1000).toISOString();

const material = (/** @type {number} */ index) => ({
  guid: '506c9f0d-e3aa-4bd4-b2d2-23e2425b1aa9',
  brand: 'Generic',
  material: index === 0 ? 'PLA' : 'PVA',
  color: index === 0 ? 'Silver' : 'Natural',
  diameter: 2.85,
  density: 1.24,
});

const configuration = (/** @type {number | null} */ degrees) =>
  [0, 1].map((index) => ({
    extruder_index: index,
    print_core_id: index === 0 ? 'AA 0.4' : 'BB 0.4',
    material: material(index),
    // A print's needs, or the rest on the spool.
    estimated_material_volume: degrees === null ? 28_000 : 300_000,
    ...(degrees === null ? {} : { temperature: degrees - index * 5, original_material_volume: 604_800 }),
  }));

/** Two-hour prints that follow each other on a cluster; their start times differ between clusters. @param {number} n @param {number} now */
function printsOf(n, now) {
  const offset = (n * 1237) % PRINT;
  const running = Math.floor((now + offset) / PRINT);
  return { running, begun: running * PRINT - offset };
}

/**
 * @param {number} n
 * @param {number} now seconds
 * @param {boolean} long with queue and history, about 18 kB; else about 2 kB
 */
export function statusAnswer(n, now, long) {
  const { running, begun } = printsOf(n, now);
  const job = (/** @type {number} */ at) => jobAnswer(n, at, now, begun + (at - running) * PRINT);
  const queue = long ? [0, 1, 2] : [0];
  const past = long ? [1, 2, 3, 4, 5, 6, 7, 8] : [];
  return {
    data: {
      generated_time: iso(now),
      is_online: true,
      printers: [{ ...printerAnswer(n, now, running), ...(long ? STATION : {}) }],
      print_jobs: queue.map((by) => job(running + by)),
      recently_completed: past.map((by) => job(running - by)),
    },
  };
}

/** Material station, chamber and air manager of a printer. */
const STATION = {
  material_station: {
    supported: true,
    material_slots: [0, 1, 2, 3, 4, 5].map((slot) => ({
      ...{ slot_index: slot, extruder_index: slot % 2, compatible: true },
      ...{ material_empty: slot === 5, material: material(slot % 2), material_remaining: 0.4 },
    })),
  },
  chamber: { temperature: 32 },
  air_manager: { supported: true, filter_status: 'ok', filter_age: 310, filter_max_age: 1500 },
};

/** @param {number} n @param {number} at @param {number} now @param {number} begun */
function jobAnswer(n, at, now, begun) {
  const elapsed = Math.floor(Math.min(PRINT, Math.max(0, now - begun)));
  const [isOver, waits] = [now >= begun + PRINT, now < begun];
  return {
    uuid: jobIdOf(n, at),
    cloud_job_id: jobIdOf(at, n),
    cluster_id: clusterIdOf(n),
    name: `bracket-left-0.2mm-${at}.ufp`,
    status: isOver ? 'finished' : waits ? 'queued' : 'printing',
    state: isOver ? 'history' : waits ? 'waiting' : 'in_progress',
    started: !waits,
    time_total: PRINT,
    time_elapsed: elapsed,
    time_remaining: PRINT - elapsed,
    created_at: iso(begun - PRINT * 5),
    owner: 'Ada Example',
    owner_id: 'user-0001',
    owner_deleted: false,
    ...(isOver ? { printed_on_uuid: printerIdOf(n) } : {}),
    ...(isOver || waits ? {} : { printer_name: `printer ${n}`, printer_uuid: printerIdOf(n) }),
    sent_from: 'slicer',
    force: false,
    machine_variant: 'Model S5',
    compatible_machine_families: ['Model S5'],
    configuration: configuration(null),
    build_plate: { type: 'glass' },
    configuration_changes_required: [],
    impediments_to_printing: [],
    constraints: {},
    preview_url: `https://files.example/previews/${jobIdOf(at, n)}.png?Expires=1893456000&Signature=${'0123456789abcdef'.repeat(3)}`,
    is_online: true,
    last_seen: 0.5,
    network_error_count: 0,
  };
}

/** @param {number} n @param {number} now @param {number} job */
function printerAnswer(n, now, job) {
  return {
    uuid: printerIdOf(n),
    unique_name: `host-${n}`,
    friendly_name: `printer ${n}`,
    machine_variant: 'Model S5',
    status: 'printing',
    enabled: true,
    reserved_by: jobIdOf(n, job),
    maintenance_required: false,
    firmware_version: '8.3.1',
    firmware_update_status: 'up_to_date',
    ip_address: '192.0.2.10',
    configuration: configuration(200 + (Math.floor(now) % 7)),
    build_plate: { type: 'glass', temperature: 60 },
    errors: [],
    faults: [],
  };
}

/** Entry of the list of clusters. @param {number} n @param {number} now */
export function clusterAnswer(n, now) {
  const { running, begun } = printsOf(n, now);
  return {
    cluster_id: clusterIdOf(n),
    host_guid: printerIdOf(n),
    host_name: `host-${n}`,
    friendly_name: `printer ${n}`,
    status: 'active',
    is_online: true,
    printer_count: 1,
    printer_type: 'model_s5',
    capabilities: ['queue', 'print_job_action_duplicate', 'import_material'],
    note: { note: '#school, second shelf' },
    maintenance_due: false,
    host_version: '8.3.1',
    host_internal_ip: '192.0.2.10',
    host_printer: printerAnswer(n, now, running),
    host_current_print_job: jobAnswer(n, running, now, begun),
    host_print_job_count: 3,
    host_remaining_print_time: 3 * PRINT,
    organization_id: 'organization-1',
    organization_shared: true,
    team_ids: [],
    user_id: 'user-0001',
  };
}
