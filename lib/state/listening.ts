import type { Client } from 'pg';
import { waitBefore } from '../time/backoff';
import type { Clock } from '../time/clock';

/** Between tries to reach the database, ms. */
const WAITS = { first: 500, longest: 10_000, jitter: 0.2 };
const CONNECT = 5_000;

/** A connection that nobody uses and that leads nowhere is found out within half a minute. */
export const KEEP_ALIVE = { keepAlive: true, keepAliveInitialDelayMillis: 15_000 };

interface ListeningOptions {
  address: string;
  clock: Clock;
  channel: string;
  /** What somebody said; null where something may have been missed. Must not throw. */
  heard: (words: string | null) => void;
}

/** A connection of its own that hears what others say on a channel, and is made anew when it breaks. */
export class Listening {
  readonly #options: ListeningOptions;
  #client: Client | undefined;
  #failures = 0;
  #disarm: () => void = () => undefined;
  #ended = false;

  constructor(options: ListeningOptions) {
    this.#options = options;
    this.#connect();
  }

  end(): void {
    this.#ended = true;
    this.#disarm();
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
    client.on('notification', ({ payload }) => heard(payload ?? null));
    client
      .connect()
      .then(() => client.query(`LISTEN ${channel}`))
      .then(() => {
        this.#failures = 0;
        if (!this.#ended) heard(null);
      })
      .catch(broken);
    return client;
  }

  /** Once for each connection that breaks, however many ways it says so. */
  #again(client: Client | undefined): void {
    if (this.#ended || client !== this.#client) return;
    this.#client = undefined;
    client?.end().catch(() => undefined);
    this.#disarm = this.#options.clock.after(waitBefore(this.#failures++, WAITS), () => this.#connect());
  }
}
