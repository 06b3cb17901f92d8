import type { PrintEvent } from '../../lib/events/print-event';
import type { Simulator } from '../../simulator';
import { seeded } from '../helpers/seeded';
import { Chance } from './chance';
import type { Life } from './life';
import type { World } from './machine';
import { awaitsCleanup } from './floor';
import { Broken } from './trace';

type Printer = ReturnType<Simulator['world']['cluster']>['printers'][number];

/** Volume of the simulator's full spool, mm³. */
const SPOOL = 604_800;
/** Rest that is below the share of every node, and that no run uses up. */
const LOW = 0.08;

/** Settings of the watching nodes. A plate that is cleared automatically waits for less. */
export const THRESHOLDS = { lowMaterial: 10, plateWait: 2, stalled: 2 };

const TYPES = ['material.changed', 'printcore.changed', 'material.low', 'maintenance.due', 'plate.awaiting'];

/** A change of the farm. Each has a key of its own. */
interface Change {
  cluster: number;
  type: string;
  key: string;
}

/** An event about such a change that was reported to a node. */
interface Reported {
  node: string;
  id: string;
  clusterId: string;
  type: string;
  key: string;
}

interface Nodes {
  /** Watched cluster of each node, by the node's name; null for all. */
  watched: ReadonlyMap<string, string | null>;
  /** Whether other nodes received events while one of them was closed. */
  single: boolean;
  /** Whether an event may be repeated. */
  mayRepeat: boolean;
  /** Whether the service invented answers. */
  hostile: boolean;
}

/** Spools, print cores, maintenance and plates of the farm in a run, and the events about them. */
export class FarmChanges {
  readonly #chance: Chance;
  readonly #made: Change[] = [];
  readonly #reported: Reported[] = [];

  constructor(private readonly world: World) {
    // Draws of its own keep the other events of a seed the same.
    this.#chance = new Chance(seeded(world.seed + 1e6));
  }

  /** Plans changes before `horizon`, ms. */
  plan(life: Life, clusters: number[], horizon: number): void {
    const chance = this.#chance;
    for (let count = chance.whole(0, 4); count > 0; count--) {
      const cluster = chance.pick(clusters);
      const type = chance.pick(TYPES);
      life.at(chance.whole(0, horizon), () => this.#change(cluster, type));
    }
  }

  #change(cluster: number, type: string): void {
    const { simulator, trace } = this.world;
    const { world } = simulator;
    const { clusterId, model, printers } = world.cluster(cluster);
    const name = `${type} ${this.#made.length + 1}`;
    const once = type === 'material.low' || type === 'maintenance.due' || type === 'plate.awaiting';
    if (once && this.#made.some((made) => made.cluster === cluster && made.type === type)) return;
    try {
      if (type === 'material.changed') world.load(cluster, 1, { guid: name });
      else if (type === 'printcore.changed') world.setPrintCore(cluster, 0, name);
      else if (type === 'material.low') world.load(cluster, 0, spoolOf(printers[0]!), LOW * SPOOL);
      else if (type === 'maintenance.due') world.setMaintenanceDue(clusterId, [`${model}_clean_fans`]);
      else world.setCleaning(cluster, 'manual');
    } catch {
      // A print uses the slot.
      return;
    }
    this.#made.push({ cluster, type, key: once ? '' : name });
    trace.add(`printer ${cluster}: ${name}`);
  }

  /** Records the events of a node that are about changes of the farm. */
  record(node: string, events: readonly PrintEvent[]): void {
    for (const { id, type, clusterId, job, value } of events) {
      if (!TYPES.includes(type)) continue;
      const about = value as { material?: { guid: string } | null; printCore?: string | null } | null;
      const keys: Record<string, string | null | undefined> = {
        'material.changed': about?.material?.guid,
        'printcore.changed': about?.printCore,
        'plate.awaiting': job?.clusterJobId,
      };
      const key = type in keys ? String(keys[type]) : '';
      this.world.trace.add(`${node}: ${type} ${key.slice(0, 20)} as ${id.slice(-12)}`);
      this.#reported.push({ node, id, clusterId, type, key });
    }
  }

  /** Records the plates that wait at the end of a run, and clears them. */
  clearPlates(): void {
    const { world } = this.world.simulator;
    for (const made of this.#made.filter(({ type }) => type === 'plate.awaiting')) {
      for (const { uuid, status } of world.cluster(made.cluster).queue)
        if (awaitsCleanup({ status })) this.#made.push({ ...made, key: uuid });
      world.setCleaning(made.cluster, 'automatic');
    }
  }

  /** Checks that no event is false, that none is repeated or lost, and that the same change has the same id. */
  check({ watched, single, mayRepeat, hostile }: Nodes): void {
    const of = ({ clusterId }: Reported) =>
      this.#made.filter(({ cluster }) => this.world.clusterId(cluster) === clusterId);
    const isCaused = (event: Reported) => of(event).some(({ type, key }) => type === event.type && key === event.key);
    const ids = new Map<string, string>();
    for (const event of this.#reported) {
      const what = `${event.type} ${event.key}`;
      const same = this.#reported.filter(({ node, id }) => node === event.node && id === event.id);
      if (same.length > 1 && !mayRepeat)
        throw new Broken(3, `${what} was reported ${same.length} times to ${event.node}`);
      if (hostile) continue;
      // The oracle of events follows every plate.
      if (event.type !== 'plate.awaiting' && !isCaused(event))
        throw new Broken(3, `${what} was reported, though nothing changed`);
      const change = `${event.clusterId} ${what}`;
      if ((ids.get(change) ?? event.id) !== event.id && !mayRepeat)
        throw new Broken(3, `${what} was reported under several ids`);
      ids.set(change, event.id);
    }
    if (!hostile) for (const change of this.#lasting()) this.#checkReported(change, watched, single);
  }

  /** The changes that no later one replaced. */
  #lasting(): Change[] {
    return this.#made.filter(({ cluster, type, key }, at) => {
      if (type === 'plate.awaiting') return key !== '';
      return !this.#made.some((later, place) => place > at && later.cluster === cluster && later.type === type);
    });
  }

  #checkReported({ cluster, type, key }: Change, watched: Nodes['watched'], single: boolean): void {
    const its = this.world.clusterId(cluster);
    const to = new Set(
      this.#reported
        .filter((event) => event.clusterId === its && event.type === type && event.key === key)
        .map(({ node }) => node),
    );
    for (const [node, clusterId] of watched)
      if ((clusterId === null || clusterId === its) && !to.has(node) && (to.size === 0 || !single))
        throw new Broken(3, `${type} ${key} was not reported to ${node}`);
  }
}

/** Material for the first extruder: its own, or what the station has for it. */
const spoolOf = ({ extruders, slots }: Printer): Printer['extruders'][number]['material'] =>
  slots?.find(({ extruder }) => extruder === 0)?.material ?? extruders[0]?.material ?? null;
