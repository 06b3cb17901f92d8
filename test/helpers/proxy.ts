import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

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
  /** Lets new connections pass again. */
  speak(): void;
  close(): Promise<void>;
}

export async function startProxy(target: number): Promise<Proxy> {
  let seen: ((words: string, passage: Passage) => void) | undefined;
  let isSilent = false;
  const sockets = new Set<Socket>();
  const standing = new Set<{ silent: boolean }>();

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
    client.on('data', (bytes) => {
      if (state.silent) return;
      seen?.(bytes.toString('latin1'), passage);
      if (state.kept) state.kept.push(bytes);
      else upstream.write(bytes);
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
    speak: () => {
      isSilent = false;
    },
    close: async () => {
      for (const socket of sockets) socket.destroy();
      server.close();
      await once(server, 'close');
    },
  };
}
