import type { PrintEvent } from '../events/print-event';
import type { ClusterStatus } from '../service/cluster';
import { PrintingError } from '../service/errors';
import { isUnderWay } from '../service/job-words';
import type { StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import type { Deadline } from '../time/deadline';
import { guard } from '../time/guard';
import type { Round } from '../watch/views/rounds';
import type { Watcher } from '../watch/watcher';
import { phrase, type Sentence } from '../words/sentence';
import { shown } from '../words/shown';
import { type Announcement, Announcements } from './announcements';
import { type Command, COMMANDS, discoveryOf } from './discovery';
import { deviceId, type Topics } from './identity';
import type { Input } from './input';
import { type Picture, PrintPictures } from './pictures';
import { deviceState, type SentState } from './state';

/** A message for a broker. An empty payload removes what the broker retains. */
export interface Publication {
  topic: string;
  payload: string | Buffer;
  qos: 0 | 1;
  retain: boolean;
}

interface BridgeOptions {
  /** Identifies the node across deploys. */
  nodeId: string;
  topics: Topics;
  /** The printer that the node publishes; null: all of the account. */
  only: string | null;
  controls: boolean;
  /** Seconds between two pictures of a print; 0: none. */
  picture: number;
  /** Of the polls, seconds. */
  interval: number;
  clock: Clock;
  store: StateStore;
  watcher: Pick<Watcher, 'clusterList' | 'polled' | 'membership'>;
  takePicture: (clusterId: string, deadline: Deadline) => Promise<Picture>;
  act: (clusterId: string, command: Command) => Promise<void>;
  translate: (sentence: Sentence) => string;
  publish: (message: Publication) => void;
}

/** A printer, and what the broker was told of it last; null: nothing that this runtime knows of. */
interface Device extends Announcement {
  status: ClusterStatus | null;
  config: string | null;
  sent: SentState | null;
  availability: string | null;
  /** Time of the last status, monotonic, ms. */
  seenAt: number;
}

/** Interval at which each of several runtimes contradicts the last will of another one, ms. */
const CONTRADICT = 60_000;

/** Intervals without a status after which another runtime may have published the printer. */
const GAP = 1.5;

/** Events that wait until their printer is announced, as nobody would receive them; the oldest are dropped. */
const HELD = 500;

/** Age of a list that suffices to find the printer of a command, ms. */
const LIST_AGE = 60_000;

const JPEG = 'image/jpeg';

/**
 * Turns printers into devices of Home Assistant: from the statuses and events of a watch to messages for a broker, and from
 * commands to actions. It works off one thing at a time, so that the messages of a printer are in order.
 */
export class Bridge {
  readonly #options: BridgeOptions;
  readonly #announcements: Announcements;
  readonly #pictures: PrintPictures | null;
  readonly #devices = new Map<string, Device>();
  /** Clusters that left the account: a poll that was under way must not publish them again. */
  readonly #removed = new Set<string>();
  #held: PrintEvent[] = [];
  #work: Promise<void> = Promise.resolve();
  #isClosed = false;
  #cancel: (() => void) | null = null;

  constructor(options: BridgeOptions) {
    this.#options = options;
    const { clock, picture, store, nodeId } = options;
    this.#announcements = new Announcements(store, nodeId);
    this.#pictures =
      picture > 0
        ? new PrintPictures({
            clock,
            every: picture * 1000,
            take: (clusterId, deadline) => this.#takePicture(clusterId, deadline),
            taken: (clusterId, taken) => this.#later(() => this.#publishPicture(clusterId, taken)),
          })
        : null;
    this.#contradictOn();
  }

  /** Number of printers that this runtime publishes. */
  get count(): number {
    const ours = this.#ours();
    return [...this.#devices.keys()].filter((clusterId) => ours.has(clusterId)).length;
  }

  /** Publishes what has changed of the printers of a round, and then calls `done`. */
  see({ results }: Round, done: () => void): void {
    for (const { status } of results) if (status) this.#later(() => this.#see(status));
    this.#later(done);
  }

  /** Publishes events, and removes the printers that left the account. */
  tell(events: readonly PrintEvent[]): void {
    for (const event of events) this.#later(() => this.#tell(event));
  }

  /** Publishes everything again: the broker or Home Assistant may have lost it. */
  announce(): void {
    this.#later(async () => {
      this.#sayOnline();
      const ours = this.#ours();
      for (const device of [...this.#devices.values()]) {
        forgetSent(device);
        if (device.status && ours.has(device.clusterId)) await this.#publish(device, device.status);
      }
      this.#pictures?.renew();
    });
  }

  /**
   * Does what a message on a command's topic demands, once, and empties the topic: a broker hands a retained command to a new
   * client again, and to one that is there already without its mark. Throws INVALID_INPUT, NOT_FOUND, and the errors of
   * job control.
   */
  async command({ id, topic, payload, isRetained }: Extract<Input, { kind: 'command' }>): Promise<void> {
    const { controls, watcher, act } = this.#options;
    if (payload === '') return;
    const clusterId = isRetained
      ? null
      : await this.#clusterOf(id).catch((error: unknown) => {
          this.#empty(topic);
          throw error;
        });
    // Each runtime receives the command; the one that polls the printer does it.
    if (clusterId !== null && watcher.membership !== null && !this.#ours().has(clusterId)) return;
    this.#empty(topic);
    if (isRetained) return;
    if (clusterId === null) throw new PrintingError('NOT_FOUND', phrase`There is no printer with the topic ${topic}.`);
    const command = COMMANDS.find((one) => one === payload);
    if (!command) throw new PrintingError('INVALID_INPUT', phrase`The command must be one of ${COMMANDS.join(', ')}.`);
    if (!controls) throw new PrintingError('INVALID_INPUT', phrase`The node takes no commands: switch its buttons on.`);
    await act(clusterId, command);
  }

  /** Resolves when what was sent is written. Never rejects. */
  async close(): Promise<void> {
    this.#isClosed = true;
    this.#cancel?.();
    this.#pictures?.close();
    await this.#work;
  }

  /** Does one thing after the other. Never rejects: what fails now is done with the next status. */
  #later(work: () => Promise<void> | void): void {
    this.#work = this.#work.then(async () => {
      if (!this.#isClosed) await work();
    });
    this.#work = this.#work.catch((thrown: unknown) => {
      guard(() => Promise.reject(thrown as Error))();
    });
  }

  #send(message: Publication): void {
    if (!this.#isClosed) guard(this.#options.publish)(message);
  }

  #retain(topic: string, payload: string | Buffer, qos: 0 | 1 = 1): void {
    this.#send({ topic, payload, qos, retain: true });
  }

  #empty(topic: string): void {
    this.#retain(topic, '');
  }

  #sayOnline(): void {
    this.#retain(this.#options.topics.bridge, 'online');
  }

  #contradictOn(): void {
    const { clock, watcher } = this.#options;
    this.#cancel = clock.after(CONTRADICT, () => {
      if (this.#isClosed) return;
      if (watcher.membership !== null) this.#sayOnline();
      this.#contradictOn();
    });
  }

  /** Ids of the clusters that this runtime polls. */
  #ours(): Set<string> {
    return new Set([...this.#options.watcher.polled()].map(({ clusterId }) => clusterId));
  }

  async #see(status: ClusterStatus): Promise<void> {
    const { clock, interval, watcher } = this.#options;
    const { clusterId } = status;
    if (this.#removed.has(clusterId) && !watcher.clusterList.last?.has(clusterId)) return;
    this.#removed.delete(clusterId);
    const device = await this.#device(clusterId, status.hostGuid);
    if (!device) return;
    const now = clock.monotonic();
    if (watcher.membership !== null && now - device.seenAt > GAP * interval * 1000) forgetSent(device);
    device.seenAt = now;
    device.status = status;
    await this.#publish(device, status);
    if (!status.stale)
      this.#pictures?.see(clusterId, status.online !== false && status.current !== null && isUnderWay(status.current));
    const held = this.#held;
    this.#held = [];
    for (const event of held) await this.#tell(event);
  }

  async #publish(device: Device, status: ClusterStatus): Promise<void> {
    const { clock, topics, controls, picture, translate } = this.#options;
    const { id } = device;
    const next = deviceState(status, device.sent, clock.now());
    const { payload, announced } = discoveryOf({
      facts: {
        id,
        name: status.name,
        model: status.model,
        firmware: next.state.firmware?.installed_version ?? null,
        contentType: device.contentType,
      },
      state: next.state,
      wasSeen: status.online === true && status.printers.some(({ extruders }) => extruders.length > 0),
      announced: device.announced,
      offers: { controls, picture: picture > 0 },
      topics,
      translate,
    });
    const isAnnounced = Object.keys(announced).every((key) => device.announced[key] === announced[key]);
    device.announced = announced;
    if (payload !== device.config) this.#retain(topics.config(id), payload);
    device.config = payload;
    if (JSON.stringify(next.state) !== JSON.stringify(device.sent?.state))
      this.#retain(topics.of(id, 'state'), JSON.stringify(next.state));
    device.sent = next;
    const availability = status.online === true && !status.stale ? 'online' : 'offline';
    if (availability !== device.availability) this.#retain(topics.of(id, 'availability'), availability);
    device.availability = availability;
    if (!isAnnounced) await this.#save(device);
  }

  /** The device of a cluster; null while its host is not known. */
  async #device(clusterId: string, hostGuid: string | null): Promise<Device | null> {
    const known = this.#devices.get(clusterId);
    if (known) return known;
    const id = await this.#identify(clusterId, hostGuid);
    if (id === null) return null;
    // The printer came back under another cluster id.
    const moved = [...this.#devices.values()].find((device) => device.id === id);
    if (moved) {
      this.#devices.delete(moved.clusterId);
      this.#pictures?.drop(moved.clusterId);
    }
    const record = moved ?? (await this.#announcements.read(id).catch(() => null));
    const device: Device = {
      ...{ announced: {}, contentType: JPEG, status: null, config: null, sent: null, availability: null, seenAt: 0 },
      ...record,
      ...{ version: 1, id, clusterId },
    };
    this.#devices.set(clusterId, device);
    if (record && record.clusterId !== clusterId) await this.#save(device);
    return device;
  }

  /** Null while it can't be told whether the service knows the host of the cluster. */
  async #identify(clusterId: string, hostGuid: string | null): Promise<string | null> {
    const { clusterList } = this.#options.watcher;
    if (hostGuid !== null) return deviceId(clusterId, hostGuid);
    const listed = clusterList.last?.get(clusterId) ?? (await clusterList.find(clusterId));
    return listed || clusterList.last ? deviceId(clusterId, listed?.hostGuid ?? null) : null;
  }

  async #save({ version, id, clusterId, announced, contentType }: Device): Promise<void> {
    await this.#announcements.write({ version, id, clusterId, announced, contentType }).catch(() => undefined);
  }

  async #tell(event: PrintEvent): Promise<void> {
    const { topics } = this.#options;
    if (event.type === 'cluster.removed') return this.#remove(event.clusterId);
    const device = this.#devices.get(event.clusterId);
    if (!device?.status) {
      this.#held = [...this.#held, event].slice(-HELD);
      return;
    }
    const { type, id, at, late, clusterName, printerName, job, previous, value } = event;
    const payload = {
      ...{ event_type: type, id, at, late, printer: printerName ?? clusterName },
      ...{ job: job?.name ?? null, job_state: job?.state ?? null, previous, value },
    };
    this.#send({ topic: topics.of(device.id, 'event'), payload: JSON.stringify(payload), qos: 1, retain: false });
  }

  /** Removes a printer that left the account from Home Assistant and from the broker. */
  async #remove(clusterId: string): Promise<void> {
    const { topics, watcher } = this.#options;
    this.#removed.add(clusterId);
    const known = this.#devices.get(clusterId) ?? (await this.#announcements.find(clusterId).catch(() => null));
    this.#devices.delete(clusterId);
    this.#pictures?.drop(clusterId);
    if (!known) return;
    const { id, announced } = known;
    const others = [...(watcher.clusterList.last?.values() ?? [])];
    if (others.some((other) => other.clusterId !== clusterId && deviceId(other.clusterId, other.hostGuid) === id))
      return;
    this.#empty(topics.config(id));
    for (const what of ['state', 'availability', 'command'] as const) this.#empty(topics.of(id, what));
    if (announced.picture !== undefined) this.#empty(topics.of(id, 'picture'));
    await this.#announcements.forget(id).catch(() => undefined);
  }

  /** The cluster of a device; null if there is none. Throws the errors of the list of printers. */
  async #clusterOf(id: string): Promise<string | null> {
    const { watcher, only } = this.#options;
    const known = [...this.#devices.values()].find((device) => device.id === id);
    if (known) return known.clusterId;
    for (const { clusterId, hostGuid } of (await watcher.clusterList.read(LIST_AGE)).values())
      if ((only === null || only === clusterId) && deviceId(clusterId, hostGuid) === id) return clusterId;
    return null;
  }

  #takePicture(clusterId: string, deadline: Deadline): Promise<Picture> {
    if (this.#ours().has(clusterId)) return this.#options.takePicture(clusterId, deadline);
    this.#pictures?.drop(clusterId);
    return Promise.reject(new PrintingError('NOT_FOUND', phrase`The printer is watched by another runtime.`));
  }

  async #publishPicture(clusterId: string, { image, contentType }: Picture): Promise<void> {
    const device = this.#devices.get(clusterId);
    if (!device) return;
    if (contentType !== device.contentType) {
      device.contentType = shown(contentType);
      if (device.status) await this.#publish(device, device.status);
      await this.#save(device);
    }
    this.#retain(this.#options.topics.of(device.id, 'picture'), image, 0);
  }
}

function forgetSent(device: Device): void {
  Object.assign(device, { config: null, sent: null, availability: null } satisfies Partial<Device>);
}
