import { rm, writeFile } from 'node:fs/promises';

import { startProxy, type Passage, type Proxy } from '../../helpers/proxy';

/** Network of one replica: all its connections to the database and to the service pass through proxies. */
export class Network {
  readonly #service: ReadonlyMap<number, Proxy>;
  /** File that exists while the replica's connections to the service are refused. */
  readonly #unreached: string;
  /** The connection that listens for changes by other replicas. */
  #listening: Passage | undefined;
  readonly #waiting = new Set<(words: string, passage: Passage) => void>();

  private constructor(
    readonly database: Proxy,
    /** By port of the service's host. */
    service: ReadonlyMap<number, Proxy>,
    unreached: string,
  ) {
    database.watch((statement, passage) => {
      if (statement.includes('LISTEN')) this.#listening = passage;
      this.#see(statement, passage);
    });
    this.#service = service;
    this.#unreached = unreached;
    for (const proxy of service.values()) proxy.watch((request, passage) => this.#see(request, passage));
  }

  static async to(database: number, service: readonly number[], unreached: string): Promise<Network> {
    const hosts = await Promise.all(service.map(async (port) => [port, await startProxy(port)] as const));
    return new Network(await startProxy(database), new Map(hosts), unreached);
  }

  /** Variables for `preload.cjs`. */
  get env(): { DETOURS: string; UNREACHED: string } {
    const ports = Object.fromEntries([...this.#service].map(([port, proxy]) => [port, proxy.port]));
    return { DETOURS: JSON.stringify(ports), UNREACHED: this.#unreached };
  }

  /** Drops all data of the connection that listens for changes, and keeps it open. */
  deafen(): void {
    this.#listening?.deafen(0);
  }

  /** Breaks the connections to the service and refuses new ones, until `reach`. */
  async unreach(): Promise<void> {
    // A proxy accepts a connection before it can break it, and that looks like a request with a lost answer.
    await writeFile(this.#unreached, '');
    for (const proxy of this.#service.values()) proxy.cut();
  }

  async reach(): Promise<void> {
    for (const proxy of this.#service.values()) proxy.speak();
    await rm(this.#unreached);
  }

  /**
   * Resolves with the connection of the first request or statement that matches all patterns; undefined after `ms`.
   * `seen` gets it before the request leaves.
   */
  next(
    patterns: readonly (RegExp | string)[],
    ms: number,
    seen?: (passage: Passage) => void,
  ): Promise<Passage | undefined> {
    return new Promise((resolve) => {
      const end = (passage?: Passage) => {
        clearTimeout(timer);
        this.#waiting.delete(look);
        resolve(passage);
      };
      const look = (words: string, passage: Passage) => {
        if (!patterns.every((pattern) => words.search(pattern) >= 0)) return;
        seen?.(passage);
        end(passage);
      };
      const timer = setTimeout(end, ms);
      this.#waiting.add(look);
    });
  }

  async close(): Promise<void> {
    await Promise.all([this.database, ...this.#service.values()].map((proxy) => proxy.close()));
  }

  #see(words: string, passage: Passage): void {
    for (const look of [...this.#waiting]) look(words, passage);
  }
}
