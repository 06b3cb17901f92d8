import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';
import { setTimeout as pause } from 'node:timers/promises';

/** One connection through the proxy. */
export interface Passage {
  /** Holds back all further data from the client, including data just received. */
  keep(): void;
  /** Drops everything from the server after so many answers. */
  deafen(answers: number): void;
  /** Forwards the data that was held back. */
  sendOn(): void;
  /** Breaks the client's side; data that was held back can still be forwarded. */
  breakClient(): void;
  /** Resolves with the server's next data. */
  answered(): Promise<void>;
}

/** A proxy to a local server that injects network faults. */
export interface Proxy {
  port: number;
  /** Observes all data on its way to the server. */
  watch(seen: ((words: string, passage: Passage) => void) | undefined): void;
  /** Drops all data of the existing connections without closing them; with `all`, of new connections, too. */
  silence(all?: boolean): void;
  /** Breaks all connections, and refuses new ones. */
  cut(): void;
  /** Lets new connections pass again. */
  speak(): void;
  /** Delays all further data on its way to the server, ms. */
  slow(ms: number): void;
  close(): Promise<void>;
}

export async function startProxy(target: number): Promise<Proxy> {
  let seen: ((words: string, passage: Passage) => void) | undefined;
  let isSilent = false;
  let isCut = false;
  let delay = 0;
  const sockets = new Set<Socket>();
  const standing = new Set<{ silent: boolean }>();
  const destroyAll = () => sockets.forEach((socket) => socket.destroy());

  const server = createServer((client) => {
    const upstream = connect(target, '127.0.0.1');
    const state = { silent: isSilent, kept: undefined as Buffer[] | undefined, isBroken: false, answers: Infinity };
    standing.add(state);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => undefined);
      socket.on('close', () => sockets.delete(socket));
    }
    const passage: Passage = {
      keep: () => (state.kept ??= []),
      deafen: (answers) => {
        state.answers = answers;
      },
      sendOn: () => {
        for (const bytes of state.kept ?? []) upstream.write(bytes);
        state.kept = undefined;
      },
      breakClient: () => {
        state.isBroken = true;
        client.destroy();
      },
      answered: async () => {
        await once(upstream, 'data');
      },
    };
    const forward = (bytes: Buffer) => void (state.kept ? state.kept.push(bytes) : upstream.write(bytes));
    let delayed = Promise.resolve();
    let waiting = 0;
    client.on('data', (bytes) => {
      if (state.silent) return;
      seen?.(bytes.toString('latin1'), passage);
      if (delay === 0 && waiting === 0) return forward(bytes);
      const due = performance.now() + delay;
      waiting++;
      // One after the other, so that the order stays.
      delayed = delayed
        .then(() => pause(Math.max(0, due - performance.now()), undefined, { ref: false }))
        .then(() => {
          waiting--;
          forward(bytes);
        });
    });
    upstream.on('data', (bytes) => {
      if (!state.silent && !client.destroyed && state.answers-- > 0) client.write(bytes);
    });
    client.on('close', () => {
      if (!state.isBroken) upstream.destroy();
    });
    upstream.on('close', () => {
      if (!state.silent) client.destroy();
    });
    if (isCut) client.destroy();
  });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    watch: (wanted) => (seen = wanted),
    silence: (all = false) => {
      isSilent = all;
      for (const state of standing) state.silent = true;
    },
    cut: () => {
      isCut = true;
      destroyAll();
    },
    speak: () => {
      isSilent = isCut = false;
    },
    slow: (ms) => (delay = ms),
    close: async () => {
      destroyAll();
      server.close();
      await once(server, 'close');
    },
  };
}
