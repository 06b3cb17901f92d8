import { randomBytes } from 'node:crypto';
import type { Client } from 'pg';
import type { Clock } from '../time/clock';
import { RetryTimer } from '../time/retry';

/** Backoff between attempts to reach the database, ms. */
const WAITS = { first: 500, longest: 10_000, jitter: 0.2 };
const CONNECT = 5_000;

/** Keep-alive settings that detect a dead idle connection within half a minute. */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 15_000 };

/** Interval between probes of the connection, ms. */
const PROBE_EVERY = 6_000;
/** How long a probe is waited for, ms: a notification arrives right after its statement or never. */
const PROBE_WAIT = 4_000;
/** Connections in a row without any probe after which the fault lies on the way, not in the connections. */
const FRESH = 2;
/** Sends a probe. A standby refuses notifications, so its connection can't be judged. */
const PROBE = `SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_notify($1, $2)::text END AS sent`;

interface ListeningOptions {
  address: string;
  clock: Clock;
  channel: string;
  /** Called with each payload; with null if one may have been missed. Must not throw. */
  onMessage: (payload: string | null) => void;
  /** Sends a statement over another connection: a pooler forwards what a connection sends to itself. */
  ask: (statement: string, values: unknown[]) => Promise<{ sent?: unknown }[]>;
  /** Called once, when no connection receives notifications. */
  onDeaf: () => void;
}

/**
 * A dedicated connection that listens to a channel and reconnects after a break. A half-open connection reports no
 * break, so probes test it. Where no connection receives notifications, every probe counts as a message.
 */
export class Listening {
  readonly #options: ListeningOptions;
  #client: Client | undefined;
  readonly #retries: RetryTimer;
  readonly #own = `remote_printing_${randomBytes(8).toString('hex')}`;
  #probes = 0;
  /** The last probe that arrived. */
  #arrived = 0;
  /** Connections in a row on which no probe arrived. */
  #unproven = 0;
  #isReported = false;
  #endProbe: () => void = () => undefined;
  #ended = false;

  constructor(options: ListeningOptions) {
    this.#options = options;
    this.#retries = new RetryTimer(options.clock, WAITS);
    this.#connect();
  }

  end(): void {
    this.#ended = true;
    this.#retries.stop();
    this.#endProbe();
    this.#client?.end().catch(() => undefined);
    this.#client = undefined;
  }

  #connect(): void {
    try {
      this.#client = this.#opened();
    } catch {
      // A part of the address, such as a certificate file, may appear later.
      this.#reconnect(undefined);
    }
  }

  #opened(): Client {
    const { address, channel, onMessage } = this.#options;
    const { Client } = require('pg') as typeof import('pg');
    const client = new Client({
      connectionString: address,
      application_name: 'remote-printing',
      connectionTimeoutMillis: CONNECT,
      query_timeout: CONNECT,
      ...KEEP_ALIVE,
    });
    const broken = () => this.#reconnect(client);
    client.on('error', broken);
    client.on('end', broken);
    client.on('notification', (notice) => {
      if (notice.channel === this.#own) this.#arrive(Number(notice.payload));
      else onMessage(notice.payload ?? null);
    });
    client
      .connect()
      .then(() => client.query(`LISTEN ${channel}; LISTEN ${this.#own}`))
      .then(() => {
        this.#retries.succeeded();
        if (this.#ended) return;
        onMessage(null);
        this.#probe(client, this.#probes);
      })
      .catch(broken);
    return client;
  }

  #arrive(probe: number): void {
    if (probe <= this.#arrived) return;
    this.#arrived = probe;
    this.#unproven = 0;
  }

  /** @param first number of probes before this connection */
  #probe(client: Client, first: number): void {
    const { clock, ask } = this.#options;
    const isStale = () => this.#ended || client !== this.#client;
    this.#endProbe = clock.after(PROBE_EVERY, () => {
      const probe = ++this.#probes;
      const judge = () => {
        if (isStale()) return;
        if (this.#arrived >= probe || !this.#reconnectIfDeaf(client, this.#arrived > first)) this.#probe(client, first);
      };
      ask(PROBE, [this.#own, String(probe)]).then(
        ([row]) => {
          if (isStale()) return;
          if (row?.sent === null) this.#probe(client, first);
          else this.#endProbe = clock.after(PROBE_WAIT, judge);
        },
        // Without the database, nothing is known about this connection.
        () => isStale() || this.#probe(client, first),
      );
    });
  }

  /** Handles a lost probe. Returns true if it reconnects; the new connection begins with null. */
  #reconnectIfDeaf(client: Client, wasProven: boolean): boolean {
    const { onMessage, onDeaf } = this.#options;
    this.#unproven = wasProven ? 0 : this.#unproven + 1;
    if (this.#unproven < FRESH) {
      this.#reconnect(client);
      return true;
    }
    if (!this.#isReported) onDeaf();
    this.#isReported = true;
    onMessage(null);
    return false;
  }

  /** Reconnects once per broken connection, whichever events report the break. */
  #reconnect(client: Client | undefined): void {
    if (this.#ended || client !== this.#client) return;
    this.#client = undefined;
    this.#endProbe();
    client?.end().catch(() => undefined);
    this.#retries.plan(() => this.#connect());
  }
}
