import type { PrintEvent } from '../events/print-event';
import type { ClusterStatus } from '../service/cluster';
import { PrintingError } from '../service/errors';
import { isUnderWay } from '../service/job-words';
import type { StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import { Turns } from '../time/concurrency';
import { closed, type Deadline } from '../time/deadline';
import { guard } from '../time/guard';
import type { ListedCluster } from '../watch/checkpoints/memory';
import type { Round } from '../watch/views/rounds';
import type { Watcher } from '../watch/watcher';
import { phrase, type Sentence } from '../words/sentence';
import { shown } from '../words/shown';
import { type Announcement, Announcements } from './announcements';
import { CommandTurns } from './command-turns';
import { type Command, COMMANDS, discoveryOf } from './discovery';
import { Handovers } from './handovers';
import { type HeldEvent, HeldEvents } from './held-events';
import { deviceId, Topics } from './identity';
import type { Input } from './input';
import { type Picture, PrintPictures } from './pictures';
import { Remnants } from './remnants';
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
  /** All open bridges of the process; this one enters and leaves by itself. */
  bridges: Set<Bridge>;
  /** The printer that the node publishes; null: all of the account. */
  only: string | null;
  controls: boolean;
  /** Seconds between two pictures of a print; 0: none. */
  picture: number;
  /** Of the polls, seconds. */
  interval: number;
  clock: Clock;
  store: StateStore;
  watcher: Pick<Watcher, 'clusterList' | 'polls' | 'membership'>;
  takePicture: (clusterId: string, deadline: Deadline) => Promise<Picture>;
  act: (clusterId: string, command: Command) => Promise<void>;
  translate: (sentence: Sentence) => string;
  publish: (message: Publication) => void;
}

/** A printer, and what the broker was told of it last; null: nothing that this runtime knows of. */
interface Device extends Announcement {
  /** Whether the record of its announcement was read. Until then, it is not replaced. */
  isRead: boolean;
  status: ClusterStatus | null;
  config: string | null;
  sent: SentState | null;
  /** Whether another runtime may have sent `sent`. */
  isTakenOver: boolean;
  availability: string | null;
  /** Time of the last status, monotonic, ms. */
  seenAt: number;
}

/** Printers that seem to be none of the node's any more. */
interface Strays {
  announcements: Announcement[];
  /** The list of clusters that lacked them: a single odd one is no proof. */
  lackedBy: unknown;
}

/** Interval at which the bridge checks its own state, and each of several runtimes contradicts the last will of another one, ms. */
const CONTRADICT = 60_000;

/** Intervals without a fresh status of any printer after which the broker's figures count as old. */
const SILENT = 3;

/** Intervals without a status after which another runtime may have published the printer. */
const GAP = 1.5;

/** Time within which another node of the process receives the same command, ms. */
const DOUBLE = 10_000;

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
  readonly #remnants: Remnants;
  /** Null where no other runtime shares the account. */
  readonly #handovers: Handovers | null;
  readonly #pictures: PrintPictures | null;
  readonly #devices = new Map<string, Device>();
  /** The same by their own ids. */
  readonly #devicesById = new Map<string, Device>();
  /** The last list that was searched, prepared for that. */
  #listed: { list: ReadonlyMap<string, ListedCluster>; byId: ReadonlyMap<string, string> } | null = null;
  /** Clusters that left the account: a poll that was under way must not publish them again. */
  readonly #removed = new Set<string>();
  readonly #held: HeldEvents;
  #work: Promise<void> = Promise.resolve();
  readonly #closing = new AbortController();
  #cancel: (() => void) | null = null;
  /** Whether the node that publishes is connected; null: nothing tells. */
  #isConnected: boolean | null = null;
  readonly #turns: CommandTurns;
  /** Commands that were done of late, each with the other nodes that have received it. */
  #done: { topic: string; command: Command; at: number; receivers: Set<Bridge> }[] = [];
  /** Null: not read yet. */
  #strays: Strays | null = null;
  /** The last list that lacked the only printer of the node. */
  #lackedBy: unknown = null;
  /** Topics of bridges that were emptied. */
  readonly #leftBridges = new Set<string>();
  /** Time of the last fresh status of any printer, or of the start, monotonic, ms. */
  #freshAt: number;
  /** Last payload of the bridge's topic; null: nothing was sent yet. */
  #said: 'online' | 'offline' | null = null;

  constructor(options: BridgeOptions) {
    this.#options = options;
    const { clock, picture, store, nodeId, watcher } = options;
    this.#freshAt = clock.monotonic();
    this.#announcements = new Announcements(store, nodeId);
    this.#turns = new CommandTurns(clock, this.#closing.signal);
    this.#remnants = new Remnants(store, nodeId);
    this.#held = new HeldEvents(store, nodeId, watcher.membership !== null);
    this.#handovers = watcher.membership && new Handovers({ store, nodeId, clock, membership: watcher.membership });
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
    options.bridges.add(this);
  }

  /** Number of printers that this runtime has published, also those that another one publishes by now. */
  get count(): number {
    return this.#devices.size;
  }

  /** Publishes what has changed of the printers of a round, and then calls `done`. */
  see(round: Round, done: () => void): void {
    for (const { status } of round.results) if (status) this.#later(() => this.#see(status));
    this.#later(() => this.#checkOnly(round));
    this.#later(() => this.#tidy());
    this.#later(() => this.#handovers?.witness());
    this.#later(done);
  }

  /** Publishes events, and removes the printers that left the account. */
  tell(events: readonly PrintEvent[]): void {
    for (const event of events)
      this.#later(
        () => this.#tell(event),
        () => this.#held.add(event),
      );
  }

  /** Publishes everything again: the broker or Home Assistant may have lost it. */
  announce(): void {
    this.#later(async () => {
      this.#handovers?.renew();
      this.#sayWhether();
      const { clock, watcher } = this.#options;
      const turns = new Turns(clock);
      for (const device of [...this.#devices.values()]) {
        await turns.next();
        forgetSent(device);
        const isOurs = watcher.polls(device.clusterId) && !this.#isOfTwin(device.id, device.clusterId);
        if (device.status && isOurs) await this.#publish(device, device.status);
      }
      await this.#emptyAgain();
      await this.#tellHeld();
      this.#pictures?.renew();
    });
  }

  /** Records whether `mqtt out` is connected. After a new connection, publishes everything again. */
  connection(isConnected: boolean): void {
    const isNew = isConnected && this.#isConnected !== true;
    this.#isConnected = isConnected;
    if (isNew) this.announce();
  }

  /**
   * Does what a message on a command's topic demands, once, and empties the topic: a broker hands a retained command to a new
   * client again, and to one that is there already without its mark. Throws INVALID_INPUT, NOT_FOUND, TIMEOUT if no runtime
   * polls the printer, and the errors of job control and of the store.
   */
  async command({ id, topic, payload, isRetained }: Extract<Input, { kind: 'command' }>): Promise<void> {
    const { controls, act } = this.#options;
    if (payload === '') return this.#turns.taken(topic);
    if (isRetained) return this.#empty(topic);
    const clusterId = await this.#turn(id, topic).catch((error: unknown) => {
      this.#empty(topic);
      throw error;
    });
    if (clusterId === undefined) return;
    if (clusterId === null && (await this.#isOfAnother(id, topic))) return;
    this.#empty(topic);
    if (clusterId === null) throw new PrintingError('NOT_FOUND', phrase`There is no printer with the topic ${topic}.`);
    const command = COMMANDS.find((one) => one === payload);
    if (!command) throw new PrintingError('INVALID_INPUT', phrase`The command must be one of ${COMMANDS.join(', ')}.`);
    const takers = this.#others.filter(({ takesCommands }) => takesCommands);
    if (!controls && (await this.#isOfAnother(id, topic, takers))) return;
    if (!controls) throw new PrintingError('INVALID_INPUT', phrase`The node takes no commands: switch its buttons on.`);
    if (takers.some((other) => other.hasDone(topic, command, this))) return;
    const at = this.#options.clock.monotonic();
    const isRecent = (one: { at: number }) => at - one.at < DOUBLE;
    this.#done = [...this.#done.filter(isRecent), { topic, command, at, receivers: new Set() }];
    await act(clusterId, command);
  }

  get takesCommands(): boolean {
    return this.#options.controls;
  }

  /** Whether it has just done a command that another node receives now. Of two equal commands, each counts once for that node. */
  hasDone(topic: string, command: Command, receiver: Bridge): boolean {
    const now = this.#options.clock.monotonic();
    const done = this.#done.find(
      (one) => one.topic === topic && one.command === command && now - one.at < DOUBLE && !one.receivers.has(receiver),
    );
    done?.receivers.add(receiver);
    return done !== undefined;
  }

  /**
   * Topics that this bridge has a broker retain of a printer, if it publishes that in any runtime, and of itself. Throws the
   * errors of the list of printers.
   */
  async topicsInUse(id: string): Promise<string[]> {
    const { topics, picture } = this.#options;
    const isPublished = (await this.#clusterOf(id)) !== null;
    return [topics.bridge, ...(isPublished ? topics.retained(id, picture > 0) : [])];
  }

  /** Resolves when what was sent is written. Never rejects. */
  async close(): Promise<void> {
    this.#options.bridges.delete(this);
    this.#closing.abort(closed());
    this.#cancel?.();
    this.#pictures?.close();
    await this.#work;
    await this.#held.save();
    await this.#handovers?.settled();
  }

  get #isClosed(): boolean {
    return this.#closing.signal.aborted;
  }

  /**
   * Does one thing after the other, or `instead` if the bridge is closed by then. Never rejects: what fails now is done with
   * the next status.
   */
  #later(work: () => Promise<void> | void, instead?: () => void): void {
    this.#work = this.#work.then(async () => {
      if (this.#isClosed) instead?.();
      else await work();
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

  /**
   * Says whether what the broker retains of the printers is current: a broker keeps it over a start that can read nothing. Of
   * several runtimes, another one may read the printers.
   */
  #sayWhether(): void {
    this.#said = this.#isCurrent ? 'online' : 'offline';
    this.#retain(this.#options.topics.bridge, this.#said);
  }

  get #isCurrent(): boolean {
    const { clock, interval, watcher } = this.#options;
    return watcher.membership !== null || clock.monotonic() - this.#freshAt <= SILENT * interval * 1000;
  }

  #contradictOn(): void {
    const { clock, watcher } = this.#options;
    this.#cancel = clock.after(CONTRADICT, () => {
      if (this.#isClosed) return;
      if (watcher.membership !== null || (this.#said === 'online' && !this.#isCurrent)) this.#sayWhether();
      this.#handovers?.witness();
      this.#contradictOn();
    });
  }

  /** The cluster of a command that this runtime does; see `CommandTurns.wait`. */
  async #turn(id: string, topic: string): Promise<string | null | undefined> {
    const find = () => this.#clusterOf(id);
    const { watcher } = this.#options;
    if (watcher.membership === null) return find();
    const known = this.#published(id);
    const isOurs = (clusterId: string) => watcher.polls(clusterId);
    return known !== undefined && isOurs(known) ? known : this.#turns.wait(topic, find, isOurs);
  }

  async #see(status: ClusterStatus): Promise<void> {
    const { clock, interval } = this.#options;
    const { clusterId } = status;
    if (this.#removed.has(clusterId) && !(await this.#isListed(clusterId))) return;
    this.#removed.delete(clusterId);
    const device = await this.#device(clusterId, status.hostGuid);
    if (!device) return;
    const now = clock.monotonic();
    if (!status.stale) this.#freshAt = now;
    if (this.#said === 'offline') this.#sayWhether();
    if (this.#handovers && now - device.seenAt > GAP * interval * 1000) await this.#takeOver(device, this.#handovers);
    device.seenAt = now;
    // The cluster is fine, and shows no printers for some polls (wire facts, trap 17).
    const showsNone = status.online === true && status.printers.length === 0;
    device.status = showsNone ? { ...status, printers: device.status?.printers ?? [] } : status;
    await this.#publish(device, device.status);
    if (!status.stale)
      this.#pictures?.see(clusterId, status.online !== false && status.current !== null && isUnderWay(status.current));
    await this.#tellHeld();
  }

  async #isListed(clusterId: string): Promise<boolean> {
    const list = await this.#options.watcher.clusterList.read(LIST_AGE).catch(() => null);
    return list?.has(clusterId) ?? false;
  }

  /** Publishes a printer whole that another runtime may have published, except an equal state. */
  async #takeOver(device: Device, handovers: Handovers): Promise<void> {
    forgetSent(device);
    device.sent = await handovers.read(device.id, this.#options.topics.of(device.id, 'state'));
    device.isTakenOver = true;
  }

  async #publish(device: Device, status: ClusterStatus): Promise<void> {
    const { topics, controls, picture, translate } = this.#options;
    const { id } = device;
    const next = deviceState(status, device.sent);
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
    const isNews = JSON.stringify(next.state) !== JSON.stringify(device.sent?.state);
    if (isNews) this.#retain(topics.of(id, 'state'), JSON.stringify(next.state));
    // A message is lost while `mqtt out` is not connected.
    if (isNews || device.isTakenOver)
      this.#handovers?.write(id, topics.of(id, 'state'), this.#isConnected === false ? null : next);
    device.isTakenOver = false;
    device.sent = next;
    const availability = status.online === true && !status.stale ? 'online' : 'offline';
    if (availability !== device.availability) this.#retain(topics.of(id, 'availability'), availability);
    device.availability = availability;
    if (!isAnnounced) await this.#save(device);
  }

  /** The device of a cluster; null while its host is not known, and if it is that of another cluster with the same host. */
  async #device(clusterId: string, hostGuid: string | null): Promise<Device | null> {
    const known = this.#devices.get(clusterId);
    const id = known?.id ?? (await this.#identify(clusterId, hostGuid));
    if (id === null) return null;
    if (this.#isOfTwin(id, clusterId)) {
      this.#pictures?.drop(clusterId);
      return null;
    }
    if (known) return this.#recalled(known);
    // The printer came back under another cluster id.
    const moved = this.#devicesById.get(id);
    if (moved) {
      this.#devices.delete(moved.clusterId);
      this.#pictures?.drop(moved.clusterId);
    }
    const device: Device = {
      ...{ announced: {}, contentType: JPEG, isRead: false, isTakenOver: false, seenAt: -Infinity },
      ...{ status: null, config: null, sent: null, availability: null },
      ...moved,
      ...{ version: 1, id, clusterId, prefixes: this.#options.topics.prefixes },
    };
    this.#devices.set(clusterId, device);
    this.#devicesById.set(id, device);
    if (moved) await this.#save(device);
    return this.#recalled(device);
  }

  /** Whether a device is that of another cluster in the list, which has the same host. */
  #isOfTwin(id: string, clusterId: string): boolean {
    const { clusterList, membership } = this.#options.watcher;
    const { last } = clusterList;
    const listed = last?.get(this.#listedById(last).get(id) ?? '');
    if (!listed) return false;
    // Several runtimes must choose alike, whatever each has published.
    const held = membership === null ? last?.get(this.#devicesById.get(id)?.clusterId ?? '') : undefined;
    const { clusterId: chosen } = held && isOnline(held) === isOnline(listed) ? held : listed;
    return chosen !== clusterId;
  }

  /** The device with what earlier messages announced, as soon as the store can be read. */
  async #recalled(device: Device): Promise<Device> {
    if (device.isRead) return device;
    const record = await this.#announcements.read(device.id).catch(() => undefined);
    if (record === undefined) return device;
    device.isRead = true;
    if (!record) return device;
    device.announced = { ...record.announced, ...device.announced };
    device.contentType = record.contentType;
    const stays = new Set(this.#topicsOf(device));
    const gone = this.#topicsOf(record).filter((topic) => !stays.has(topic));
    if (gone.length > 0) await this.#leave(device.id, gone);
    await this.#leaveBridge(record);
    const isSame =
      record.clusterId === device.clusterId && JSON.stringify(record.prefixes) === JSON.stringify(device.prefixes);
    if (!isSame) await this.#save(device);
    return device;
  }

  /** Topics that a broker may retain of a printer. */
  #topicsOf({ id, announced, prefixes }: Announcement): string[] {
    const topics = prefixes ? new Topics(...prefixes) : this.#options.topics;
    return topics.retained(id, announced.picture !== undefined);
  }

  /** Empties the bridge's topic of an old prefix. */
  async #leaveBridge({ prefixes }: Announcement): Promise<void> {
    if (!prefixes) return;
    const { bridge } = new Topics(...prefixes);
    if (this.#leftBridges.has(bridge) || bridge === this.#options.topics.bridge) return;
    this.#leftBridges.add(bridge);
    await this.#leave(bridge, [bridge]);
  }

  /**
   * Empties topics that this bridge uses no more, and again after each connection until one is known. A closed bridge leaves
   * them to the next one.
   */
  async #leave(id: string, topics: readonly string[]): Promise<void> {
    const unused = await this.#unused(id, topics, this.#others).catch(() => null);
    if (unused?.length === 0) return;
    const isKnown = unused !== null && this.#isConnected === true && !this.#isClosed;
    if (!isKnown) await this.#remnants.add(id, unused ?? topics).catch(() => undefined);
    for (const topic of unused ?? []) this.#empty(topic);
  }

  /** Empties what the broker may have kept because `mqtt out` was not connected. */
  async #emptyAgain(): Promise<void> {
    for (const { id, topics } of await this.#remnants.all().catch(() => [])) {
      const unused = await this.#unused(id, topics, [...this.#options.bridges]).catch(() => null);
      if (!unused) continue;
      for (const topic of unused) this.#empty(topic);
      if (this.#isConnected === true) await this.#remnants.forget(id).catch(() => undefined);
    }
  }

  /** The other open bridges of the process: a printer may have passed to one of them. */
  get #others(): Bridge[] {
    return [...this.#options.bridges].filter((bridge) => bridge !== this);
  }

  async #isOfAnother(id: string, topic: string, others = this.#others): Promise<boolean> {
    const unused = await this.#unused(id, [topic], others).catch(() => null);
    return unused?.length === 0;
  }

  /** Those of the topics that none of the bridges uses. Throws the errors of their lists of printers. */
  async #unused(id: string, topics: readonly string[], bridges: readonly Bridge[]): Promise<string[]> {
    const inUse = new Set((await Promise.all(bridges.map((bridge) => bridge.topicsInUse(id)))).flat());
    return topics.filter((topic) => !inUse.has(topic));
  }

  /** Null while it can't be told whether the service knows the host of the cluster. */
  async #identify(clusterId: string, hostGuid: string | null): Promise<string | null> {
    const { clusterList } = this.#options.watcher;
    if (hostGuid !== null) return deviceId(clusterId, hostGuid);
    const listed = clusterList.last?.get(clusterId) ?? (await clusterList.find(clusterId));
    return listed || clusterList.last ? deviceId(clusterId, listed?.hostGuid ?? null) : null;
  }

  async #save({ version, id, clusterId, announced, contentType, prefixes, isRead }: Device): Promise<void> {
    if (!isRead) return;
    const record: Announcement = { version, id, clusterId, announced, contentType, prefixes };
    await this.#announcements.write(record).catch(() => undefined);
  }

  async #tellHeld(): Promise<void> {
    if (this.#isConnected === false) return;
    const isDue = ({ type, clusterId }: HeldEvent) =>
      type === 'cluster.removed' || Boolean(this.#devices.get(clusterId)?.status);
    for (const event of await this.#held.take(isDue)) await this.#tell(event);
  }

  async #tell(event: HeldEvent): Promise<void> {
    const { topics } = this.#options;
    if (event.type === 'cluster.removed') return this.#remove(event.clusterId);
    const device = this.#devices.get(event.clusterId);
    // A broker does not retain events.
    if (!device?.status || this.#isConnected === false || this.#isClosed) return this.#held.add(event);
    const { type, id, at, late, clusterName, printerName, job, previous, value } = event;
    const payload = {
      ...{ event_type: type, id, at, late, printer: printerName ?? clusterName },
      ...{ job: job?.name ?? null, job_state: job?.state ?? null, previous, value },
    };
    this.#send({ topic: topics.of(device.id, 'event'), payload: JSON.stringify(payload), qos: 1, retain: false });
  }

  /**
   * Removes the printers that were announced earlier and are none of this node's any more: they left while it was away, or
   * another printer was chosen.
   */
  async #tidy(): Promise<void> {
    const { clock, only, watcher } = this.#options;
    const list = watcher.clusterList.last;
    if (this.#strays === null) {
      if (only === null ? !list : this.#devices.size === 0) return;
      const all = await this.#announcements.all().catch(() => null);
      this.#strays = all && { announcements: this.#straysOf(all, list), lackedBy: only === null ? list : undefined };
    }
    if (!this.#strays || this.#strays.lackedBy === list) return;
    const { announcements } = this.#strays;
    this.#strays = { announcements: [], lackedBy: list };
    const turns = new Turns(clock);
    for (const announcement of this.#straysOf(announcements, list)) {
      await turns.next();
      if (this.#isClosed) return;
      await this.#forget(announcement);
    }
  }

  /** Those of the printers that were announced which are none of those that the node publishes. */
  #straysOf(announcements: Announcement[], list: ReadonlyMap<string, ListedCluster> | null): Announcement[] {
    const others = announcements.filter(({ id }) => !this.#devicesById.has(id));
    if (this.#options.only !== null || others.length === 0) return others;
    if (!list) return [];
    const listed = new Set([...list.values()].map(({ clusterId, hostGuid }) => deviceId(clusterId, hostGuid)));
    // The service knows the host of such a cluster no more, or not at the moment.
    const isHostless = (clusterId: string) => list.get(clusterId)?.hostGuid === null;
    return others.filter(({ id, clusterId }) => !listed.has(id) && !isHostless(clusterId));
  }

  /** Removes the only printer of the node once two lists in a row lack it: no event tells that it has left. */
  async #checkOnly({ results, error }: Round): Promise<void> {
    const { only, watcher } = this.#options;
    const list = watcher.clusterList.last;
    if (results.some(({ status }) => status?.stale === false)) this.#lackedBy = null;
    if (only === null || error?.code !== 'NOT_FOUND' || !list) return;
    const { clusterId = only } = error.ids;
    if (list.has(clusterId) || this.#removed.has(clusterId)) return;
    if (this.#lackedBy !== null && this.#lackedBy !== list) await this.#remove(clusterId);
    this.#lackedBy = list;
  }

  /** Removes a printer that left the account from Home Assistant and from the broker. */
  async #remove(clusterId: string): Promise<void> {
    const { watcher } = this.#options;
    this.#removed.add(clusterId);
    const known =
      this.#devices.get(clusterId) ??
      (await this.#announcements.all().catch(() => [])).find((record) => record.clusterId === clusterId);
    this.#devices.delete(clusterId);
    if (known && this.#devicesById.get(known.id) === known) this.#devicesById.delete(known.id);
    this.#pictures?.drop(clusterId);
    if (!known) return;
    const others = [...(watcher.clusterList.last?.values() ?? [])].filter((other) => other.clusterId !== clusterId);
    if (!others.some((other) => deviceId(other.clusterId, other.hostGuid) === known.id)) await this.#forget(known);
  }

  async #forget(announcement: Announcement): Promise<void> {
    await this.#leave(announcement.id, this.#topicsOf(announcement));
    await this.#announcements.forget(announcement.id).catch(() => undefined);
  }

  /** The cluster whose device this runtime publishes, unless the device has passed to another cluster. */
  #published(id: string): string | undefined {
    const known = this.#devicesById.get(id);
    return known && !this.#isOfTwin(id, known.clusterId) ? known.clusterId : undefined;
  }

  /** The cluster of a device; null if there is none. Throws the errors of the list of printers. */
  async #clusterOf(id: string): Promise<string | null> {
    const { clusterList } = this.#options.watcher;
    const known = this.#published(id);
    if (known !== undefined) return known;
    const { last } = clusterList;
    const find = (list: ReadonlyMap<string, ListedCluster>) => this.#listedById(list).get(id) ?? null;
    return (last && find(last)) ?? find(await clusterList.read(LIST_AGE));
  }

  /**
   * Clusters of a list that the node publishes, by the ids of their devices. The list may have a host twice, if it was connected
   * anew: then each runtime chooses one that is online.
   */
  #listedById(list: ReadonlyMap<string, ListedCluster>): ReadonlyMap<string, string> {
    if (this.#listed?.list === list) return this.#listed.byId;
    const { only } = this.#options;
    const byId = new Map<string, string>();
    for (const cluster of list.values()) {
      const { clusterId, hostGuid } = cluster;
      const id = deviceId(clusterId, hostGuid);
      const other = list.get(byId.get(id) ?? '');
      if ((only === null || only === clusterId) && (!other || precedes(cluster, other))) byId.set(id, clusterId);
    }
    this.#listed = { list, byId };
    return byId;
  }

  #takePicture(clusterId: string, deadline: Deadline): Promise<Picture> {
    const { watcher, takePicture } = this.#options;
    if (watcher.polls(clusterId)) return takePicture(clusterId, deadline);
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
    if (this.#isConnected === false) this.#pictures?.repeat(clusterId);
    else this.#retain(this.#options.topics.of(device.id, 'picture'), image, 0);
  }
}

/** Whether the device of two clusters with one host is that of the first one: each list has the same answer. */
const precedes = (one: ListedCluster, other: ListedCluster): boolean =>
  isOnline(one) === isOnline(other) ? one.clusterId < other.clusterId : isOnline(one);

const isOnline = ({ online }: ListedCluster): boolean => online === true;

function forgetSent(device: Device): void {
  Object.assign(device, { config: null, sent: null, availability: null } satisfies Partial<Device>);
}
