import { createHash } from 'node:crypto';
import type { Ids } from './ids';
import { materialName } from './materials';
import { offered } from './station';
import type { Cluster, EndedPrint, EndStatus, PrintJob, State, StoredJob, User } from './state';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const WEEK = 7 * 24 * HOUR;

/** Printed parts: name and minutes. */
const PARTS: readonly (readonly [name: string, minutes: number])[] = [
  ['bracket.gcode', 48],
  ['gear 24T.gcode', 110],
  ['lamp shade.gcode', 380],
  ['hinge set.gcode', 155],
  ['vase.gcode', 250],
  ['phone stand.gcode', 185],
  ['cable clips.gcode', 75],
  ['planter.gcode', 580],
  ['drill guide.gcode', 95],
];
/** Materials loaded earlier in the week. */
const EARLIER_SPOOLS = ['Generic PETG Black', 'Generic ABS White'];

/** A file for the storage that belongs to the generated history. */
export interface StockedFile {
  key: string;
  text: string;
}

/**
 * Generates a history of one week before `now`: finished, failed and aborted prints, and their files. For new worlds
 * only, so that reports, lists and pickers have contents from the start.
 */
export function liveThroughAWeek(state: State, ids: Ids, now: number): StockedFile[] {
  const stocked = state.organizations.map(({ organizationId }) => stock(state, ids, { organizationId, now }));
  for (const [index, cluster] of state.clusters.entries()) {
    const stored = state.storedJobs.filter(({ organizationId }) => organizationId === cluster.organizationId);
    const people = state.users.filter(({ organizationIds }) => organizationIds.includes(cluster.organizationId));
    // Newest first.
    const prints = week(cluster, index, { ids, now, stored, people });
    cluster.history = prints.map(({ job }) => job);
    cluster.log = prints.map(({ ended }) => ended).reverse();
  }
  return stocked.flat();
}

function stock(state: State, ids: Ids, { organizationId, now }: { organizationId: string; now: number }) {
  const { userId } = state.users.find(({ organizationIds }) => organizationIds.includes(organizationId))!;
  return PARTS.map(([jobName, minutes]): StockedFile => {
    const text = `;FLAVOR:Griffin\n;TIME:${minutes * 60}\nG28\nG1 X10 Y10 E1\nM104 S0\nM140 S0\n`;
    const at = now - WEEK - HOUR;
    const job: StoredJob = {
      ...{ organizationId, userId, jobName, contentType: 'text/plain', fileSize: text.length },
      ...{ origin: null, libraryProjectId: null, sourceFileId: null },
      ...{ jobId: ids.cloudId(), key: ids.uuid(), uploadMode: state.uploadMode },
      ...{ createdAt: at, usedAt: at, uploadedAt: at },
      sha256: createHash('sha256').update(text).digest('hex'),
      ...{ printSeconds: minutes * 60, parsed: true },
    };
    state.storedJobs.push(job);
    return { key: job.key, text };
  });
}

interface About {
  ids: Ids;
  now: number;
  stored: StoredJob[];
  people: User[];
}

/** Generates prints in sequence, with idle times between some of them. */
function week(cluster: Cluster, index: number, about: About): { job: PrintJob; ended: EndedPrint }[] {
  const { ids, now, stored, people } = about;
  const prints: { job: PrintJob; ended: EndedPrint }[] = [];
  /** Reproducible number from 0 to 1 by seed, printer and print. */
  const chance = (what: string): number => (1 + ids.noise(`${cluster.hostName} ${prints.length} ${what}`)) / 2;
  let end = now - HOUR - Math.round(chance('first') * 2 * HOUR);
  while (end > now - WEEK) {
    const number = prints.length + 2 * index;
    const part = stored[Math.floor(chance('part') * stored.length) % stored.length]!;
    const status = statusOf(number);
    const share = status === 'finished' ? 1 : 0.1 + 0.8 * chance('share');
    const elapsed = Math.floor(part.printSeconds * share);
    const startedAt = end - 1000 * elapsed;
    const createdAt = startedAt - Math.round((2 + 10 * chance('wait')) * MINUTE);
    const local = number % 6 === 5;
    const owner = local ? null : people[number % people.length]!;
    const printer = cluster.printers[prints.length % cluster.printers.length]!;
    const common = {
      uuid: ids.uuid(),
      jobId: local ? null : part.jobId,
      name: part.jobName,
      status,
      printerUuid: printer.uuid,
      sentFrom: local ? ('usb' as const) : ('cloud' as const),
      createdAt,
      timeTotal: part.printSeconds,
    };
    const age = (end - now) / WEEK;
    prints.push({
      ended: {
        ...common,
        user: owner?.name ?? null,
        materials: printer.extruders.map((_, extruder) => {
          const [material] = offered(printer, extruder);
          if (material === undefined) return null;
          const loaded = materialName(material);
          return [loaded, ...EARLIER_SPOOLS][Math.floor(-3 * age)] ?? loaded;
        }),
        startedAt,
        endedAt: end,
        timeElapsed: elapsed,
      },
      // Virtual times before the start of the world, which no calculation uses.
      job: {
        ...common,
        since: end - now,
        startedAt: startedAt - now,
        printed: elapsed,
        visibleAt: createdAt - now,
        owner: owner && { userId: owner.userId, name: owner.name },
        held: false,
        force: false,
        changes: [],
        message: null,
        deletedAt: null,
      },
    });
    end = createdAt - Math.round((0.3 + 6 * chance('pause')) * HOUR);
  }
  return prints;
}

/** Outcome of a print; most are successful. */
function statusOf(number: number): EndStatus {
  if (number % 9 === 4) return 'failed';
  return number % 7 === 2 ? 'aborted' : 'finished';
}
