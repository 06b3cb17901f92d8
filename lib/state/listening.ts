import { randomBytes } from 'node:crypto';
import type { Client } from 'pg';
import { waitBefore } from '../time/backoff';
import type { Clock } from '../time/clock';

/** Between tries to reach the database, ms. */
const WAITS = { first: 500, longest: 10_000, jitter: 0.2 };
const CONNECT = 5_000;

/** A connection that nobody uses and that leads nowhere is found out within half a minute. */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 15_000 };

/** Between probes of the connection, ms. */
const PROBE_EVERY = 6_000;
/** A notification comes within a moment of its statement, or not at all, ms. */
const PROBE_WAIT = 4_000;
/** Connections in a row on which no probe has arrived: not they are to blame, but something on the way. */
const FRESH = 2;
/** A standby refuses notifications; a connection can't be judged there. */
const PROBE = `SELECT CASE WHEN pg_is_in_recovery() THEN NULL ELSE pg_notify($1, $2)::text END AS sent`;

interface ListeningOptions {
  address: string;
  clock: Clock;
  channel: string;
  /** What somebody said; null where something may have been missed. Must not throw. */
  heard: (words: string | null) => void;
  /** Asks on another connection: a pooler passes on what a connection says to itself. */
  ask: (statement: string, values: unknown[]) => Promise<{ sent?: unknown }[]>;
  /** Notifications do not arrive, over whichever connection; called once. */
  deaf: () => void;
}

/**
 * A connection of its own that hears what others say on a channel, and is made anew when it breaks. A half-open one does not
 * say that it has, so the connection is probed. Where no connection gets notifications, every probe counts as a notice.
 */
export class Listening {
  readonly #options: ListeningOptions;
  #client: Client | undefined;
  #failures = 0;
  #disarm: () => void = () => undefined;
  readonly #own = `remote_printing_${randomBytes(8).toString('hex')}`;
  #probes = 0;
  /** The last probe that arrived. */
  #arrived = 0;
  /** Connections in a row on which none did. */
  #unproven = 0;
  #wasTold = false;
  #endProbe: () => void = () => undefined;
  #ended = false;

  constructor(options: ListeningOptions) {
    this.#options = options;
    this.#connect();
  }

  end(): void {
    this.#ended = true;
    this.#disarm();
    this.#endProbe();
    this.#client?.end().catch(() => undefined);
    this.#client = undefined;
  }

  #connect(): void {
    try {
      this.#client = this.#opened();
    } catch {
      // What the address names, such as the file of a certificate, may come yet.
      this.#again(undefined);
    }
  }

  #opened(): Client {
    const { address, channel, heard } = this.#options;
    const { Client } = require('pg') as typeof import('pg');
    const client = new Client({
      connectionString: address,
      application_name: 'remote-printing',
      connectionTimeoutMillis: CONNECT,
      query_timeout: CONNECT,
      ...KEEP_ALIVE,
    });
    const broken = () => this.#again(client);
    client.on('error', broken);
    client.on('end', broken);
    client.on('notification', (notice) => {
      if (notice.channel === this.#own) this.#arrive(Number(notice.payload));
      else heard(notice.payload ?? null);
    });
    client
      .connect()
      .then(() => client.query(`LISTEN ${channel}; LISTEN ${this.#own}`))
      .then(() => {
        this.#failures = 0;
        if (this.#ended) return;
        heard(null);
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

  /** @param first how many probes had been made before this connection */
  #probe(client: Client, first: number): void {
    const { clock, ask } = this.#options;
    const isOver = () => this.#ended || client !== this.#client;
    this.#endProbe = clock.after(PROBE_EVERY, () => {
      const probe = ++this.#probes;
      const judge = () => {
        if (isOver()) return;
        if (this.#arrived >= probe || !this.#isDeaf(client, this.#arrived > first)) this.#probe(client, first);
      };
      ask(PROBE, [this.#own, String(probe)]).then(
        ([row]) => {
          if (isOver()) return;
          if (row?.sent === null) this.#probe(client, first);
          else this.#endProbe = clock.after(PROBE_WAIT, judge);
        },
        // Without the database nothing is known about this connection.
        () => isOver() || this.#probe(client, first),
      );
    });
  }

  /** A probe has not arrived. True where another connection is made for that; it begins by saying that something was missed. */
  #isDeaf(client: Client, wasProven: boolean): boolean {
    const { heard, deaf } = this.#options;
    this.#unproven = wasProven ? 0 : this.#unproven + 1;
    if (this.#unproven < FRESH) {
      this.#again(client);
      return true;
    }
    if (!this.#wasTold) deaf();
    this.#wasTold = true;
    heard(null);
    return false;
  }

  /** Once for each connection that breaks, however many ways it says so. */
  #again(client: Client | undefined): void {
    if (this.#ended || client !== this.#client) return;
    this.#client = undefined;
    this.#endProbe();
    client?.end().catch(() => undefined);
    this.#disarm = this.#options.clock.after(waitBefore(this.#failures++, WAITS), () => this.#connect());
  }
}
