import { createRequire } from 'node:module';
import type http from 'node:http';
import type net from 'node:net';
import type { AddressInfo } from 'node:net';
import { Duplex } from 'node:stream';
import type { Activity } from './activity';
import { injectUndiciTimers } from '../../helpers/undici-timers';
import type { InjectedTime } from './time';

export type Host = 'auth' | 'api' | 'storage';
export type Way = 'up' | 'down';

/** Fate of new connections to a host during an outage. */
export type Outage = 'ECONNREFUSED' | 'ENOTFOUND' | 'EAI_AGAIN' | 'ENETUNREACH' | 'silent';

/** Fault that affects, once, the first connection to the host on which more than `at` bytes go that way. */
export interface ByteFault {
  host: Host;
  way: Way;
  at: number;
  /** `reset` the connection, `stall` for ever (half-open), or `trickle` one byte a second from then on. */
  kind: 'reset' | 'stall' | 'trickle';
}

/** Size of the largest read from a socket. */
const PIECE = 64 * 1024;

const load = createRequire(__filename);
const sharedNet = load('node:net') as { connect: (...args: unknown[]) => unknown };
const sharedHttp = load('node:http') as { createServer: (...args: unknown[]) => http.Server };

/**
 * In-memory network between undici and the simulator's own HTTP servers. Every byte passes through it. Each side
 * receives an object that behaves like a socket.
 */
export class Wire {
  readonly outages = new Map<Host, Outage>();
  /** Delay of each piece of data, ms. */
  latency = 0;
  onFault: (host: Host, what: string) => void = () => undefined;
  /** Called before a piece of data arrives at the machine. */
  beforeArrival: (host: Host) => void = () => undefined;
  /** Called for every piece of data that leaves the machine, whether or not it arrives. */
  onDeparture: (host: Host, data: Buffer) => void = () => undefined;
  /** Called for every piece of data that arrives at the machine. */
  onArrival: (host: Host, data: Buffer, connection: object) => void = () => undefined;
  /** Called when the machine closes a sound connection that has been silent since its last request. */
  onGivenUp: (host: Host) => void = () => undefined;
  readonly #faults: ByteFault[] = [];
  readonly #servers = new Map<number, { host: Host; server: http.Server }>();
  readonly #links = new Set<Link>();

  constructor(
    readonly time: InjectedTime,
    readonly activity: Activity,
  ) {}

  /** Intercepts connections to the known servers. The returned function undoes that. */
  install(): () => void {
    const plain = sharedNet.connect;
    sharedNet.connect = (...args: unknown[]) => {
      const to = args[0] as { port?: number | string };
      const known = this.#servers.get(Number(to.port));
      return known ? this.#connect(known.host, known.server) : plain(...args);
    };
    const restoreTimers = injectUndiciTimers((ms, action) => this.time.after(ms, action));
    return () => {
      sharedNet.connect = plain;
      restoreTimers();
    };
  }

  /** Runs `start` and registers the servers that it creates; `name` identifies a server by its port. */
  async learn<T>(start: () => Promise<T>, name: (started: T, port: number) => Host | null): Promise<T> {
    const plain = sharedHttp.createServer;
    const servers: http.Server[] = [];
    sharedHttp.createServer = (...args: unknown[]) => {
      const server = plain(...args);
      servers.push(server);
      return server;
    };
    try {
      const started = await start();
      for (const server of servers) {
        const { port } = server.address() as AddressInfo;
        const host = name(started, port);
        if (host) this.#servers.set(port, { host, server });
      }
      return started;
    } finally {
      sharedHttp.createServer = plain;
    }
  }

  add(fault: ByteFault): () => void {
    this.#faults.push(fault);
    return () => {
      const at = this.#faults.indexOf(fault);
      if (at >= 0) this.#faults.splice(at, 1);
    };
  }

  /** Number of connections that are open on the machine's side. */
  get open(): number {
    return [...this.#links].filter(({ machine }) => !machine.destroyed).length;
  }

  /** Breaks every connection; with `silently`, the machine never notices. */
  cut({ silently = false } = {}): void {
    for (const link of [...this.#links]) link.cut(silently);
  }

  /** Removes all faults and breaks the connections that a fault blocks, as routers eventually do. */
  mend(): void {
    this.outages.clear();
    this.#faults.length = 0;
    for (const link of [...this.#links]) if (link.spoilt) link.cut(false);
  }

  #connect(host: Host, server: http.Server): net.Socket {
    const outage = this.outages.get(host);
    const link = new Link(this, host);
    if (outage) {
      this.onFault(host, outage);
      if (outage !== 'silent') {
        const end = this.activity.begin();
        setImmediate(() => {
          end();
          link.machine.destroy(Object.assign(new Error(`${outage}: injected`), { code: outage }));
        });
      } else {
        link.spoilt = true;
        this.#keep(link);
      }
    } else {
      this.#keep(link);
      link.later(() => {
        if (link.machine.destroyed) return;
        server.emit('connection', link.service);
        link.machine.emit('connect');
      });
    }
    return link.machine as unknown as net.Socket;
  }

  #keep(link: Link): void {
    this.#links.add(link);
    link.onEnd = () => this.#links.delete(link);
  }

  /** Returns the fault that affects these bytes, and removes it. */
  strikes(link: Link, way: Way, length: number): ByteFault | undefined {
    for (const fault of this.#faults) {
      if (fault.host !== link.host || fault.way !== way) continue;
      const begun = link.counted.get(fault) ?? 0;
      link.counted.set(fault, begun + length);
      if (begun + length <= fault.at) continue;
      this.#faults.splice(this.#faults.indexOf(fault), 1);
      this.onFault(link.host, `${fault.kind} ${way} after ${fault.at} bytes`);
      return { ...fault, at: Math.max(0, fault.at - begun) };
    }
    return undefined;
  }
}

/** One connection. */
class Link {
  readonly machine: End;
  readonly service: End;
  /** Bytes counted for each pending fault. */
  readonly counted = new Map<ByteFault, number>();
  spoilt = false;
  /** Whether a request has been sent and no byte of its answer has arrived. */
  #isSilent = false;
  #cut = false;
  onEnd: () => void = () => undefined;
  readonly #stalled = new Set<Way>();
  readonly #trickling = new Map<Way, number[]>();

  constructor(
    private readonly wire: Wire,
    readonly host: Host,
  ) {
    this.machine = new End(
      (data) => this.#send('up', data),
      () => this.#finish('up'),
      (error) => this.#closed('up', error),
    );
    this.service = new End(
      (data) => this.#send('down', data),
      () => this.#finish('down'),
      (error) => this.#closed('down', error),
    );
  }

  later(action: () => void, cause: string | null = null): void {
    const { activity, time, latency } = this.wire;
    if (latency > 0) time.after(latency, () => activity.turn(cause, action));
    else activity.turn(cause, action);
  }

  cut(silently: boolean): void {
    this.#cut = true;
    this.#stalled.add('up').add('down');
    this.service.destroy();
    if (!silently) this.machine.destroy(Object.assign(new Error('reset: injected'), { code: 'ECONNRESET' }));
    this.onEnd();
  }

  #send(way: Way, data: Buffer): void {
    this.wire.activity.touch();
    if (way === 'up') this.wire.onDeparture(this.host, data);
    if (this.#stalled.has(way)) return;
    if (this.#trickling.has(way)) return this.#trickle(way, data);
    const fault = this.wire.strikes(this, way, data.length);
    if (!fault) return this.#pass(way, data);
    this.#pass(way, data.subarray(0, fault.at));
    if (fault.kind === 'trickle') {
      this.#trickling.set(way, []);
      this.spoilt = true;
      return this.#trickle(way, data.subarray(fault.at));
    }
    this.#stalled.add(way);
    if (fault.kind === 'stall') this.spoilt = true;
    else this.later(() => this.cut(false));
  }

  #pass(way: Way, data: Buffer): void {
    const cause = way === 'down' ? `data of ${this.host}` : null;
    for (let at = 0; at < data.length; at += PIECE) {
      const piece = data.subarray(at, at + PIECE);
      this.later(() => this.#arrive(way, piece), cause);
    }
  }

  #trickle(way: Way, data: Buffer): void {
    const waiting = this.#trickling.get(way) ?? [];
    const idle = waiting.length === 0;
    waiting.push(...data);
    if (idle) this.#drip(way, waiting);
  }

  #drip(way: Way, waiting: number[]): void {
    this.wire.time.after(1000, () => {
      const byte = waiting.shift();
      if (byte === undefined || this.#to(way).destroyed) return;
      this.#arrive(way, Buffer.from([byte]));
      this.#drip(way, waiting);
    });
  }

  #arrive(way: Way, data: Buffer): void {
    this.wire.activity.touch();
    const to = this.#to(way);
    if (way === 'down' && !to.destroyed) this.wire.beforeArrival(this.host);
    if (to.destroyed || (way === 'down' && this.#cut)) return;
    if (way === 'down') this.wire.onArrival(this.host, data, this);
    this.#isSilent = way === 'up';
    to.push(data);
  }

  /**
   * Drops the data that trickles to the service. A short request is one segment and one TLS record, so it arrives whole
   * or not at all. The system stops sending it when its socket is closed and nothing was acknowledged for minutes.
   */
  #dropRest(): void {
    this.#trickling.get('up')?.splice(0);
    this.#trickling.delete('up');
  }

  #to = (way: Way): End => (way === 'up' ? this.service : this.machine);

  #finish(way: Way): void {
    if (this.#stalled.has(way) || this.#trickling.has(way)) return;
    this.later(() => {
      const to = this.#to(way);
      if (!to.destroyed) to.push(null);
    });
  }

  /** Handles the close of one side: the other side is closed too, unless the connection is dead. */
  #closed(way: Way, error: Error | null): void {
    const [from, to] = way === 'up' ? [this.machine, this.service] : [this.service, this.machine];
    this.wire.activity.touch();
    if (from.destroyed && to.destroyed) this.onEnd();
    if (way === 'up') {
      this.#dropRest();
      if (this.#isSilent && !to.destroyed && !this.spoilt && !this.#stalled.size) this.wire.onGivenUp(this.host);
    }
    if (this.#stalled.has(way) || this.#trickling.has(way)) return;
    this.later(() => {
      if (to.destroyed) return;
      if (error) to.destroy(Object.assign(new Error('reset: injected'), { code: 'ECONNRESET' }));
      else {
        to.push(null);
        if (way === 'up') to.destroy();
      }
    });
  }
}

/** One side of a connection: the part of a socket that undici and Node's servers use. */
class End extends Duplex {
  readonly remoteAddress = '127.0.0.1';
  readonly remoteFamily = 'IPv4';
  readonly localAddress = '127.0.0.1';
  timeout = 0;
  bytesWritten = 0;
  bytesRead = 0;

  constructor(
    private readonly send: (data: Buffer) => void,
    private readonly finished: () => void,
    private readonly closing: (error: Error | null) => void,
  ) {
    super({ allowHalfOpen: true, emitClose: true });
    // An error on an unused socket must not end the process.
    this.on('error', () => undefined);
  }

  setKeepAlive = () => this;
  setNoDelay = () => this;
  setTimeout = () => this;
  ref = () => this;
  unref = () => this;
  address = () => ({ address: '127.0.0.1', family: 'IPv4', port: 1 });
  resetAndDestroy(): this {
    return this.destroy(Object.assign(new Error('reset'), { code: 'ECONNRESET' }));
  }
  destroySoon(): void {
    if (this.writableFinished) this.destroy();
    else this.end(() => this.destroy());
  }

  override _read(): void {
    // Arriving data is pushed.
  }
  override _write(data: Buffer | string, encoding: BufferEncoding, done: () => void): void {
    const bytes = typeof data === 'string' ? Buffer.from(data, encoding) : Buffer.from(data);
    this.bytesWritten += bytes.length;
    this.send(bytes);
    done();
  }
  override _final(done: () => void): void {
    this.finished();
    done();
  }
  override _destroy(error: Error | null, done: (error: Error | null) => void): void {
    this.closing(error);
    done(error);
  }
}
