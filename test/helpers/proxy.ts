import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Socket } from 'node:net';

/** One connection through the proxy. */
export interface Passage {
  /** What the client sends is kept here from now on, what it has just sent too. */
  keep(): void;
  /** Nothing of the server arrives on this connection any more, after so many answers. */
  deafen(answers: number): void;
  /** Sends on what was kept. */
  sendOn(): void;
  /** The client's side breaks; what was kept can still be sent on. */
  breakClient(): void;
  /** Resolves with the next words of the server. */
  answered(): Promise<void>;
}

/** A way to a server of this machine, on which the network's faults happen on purpose. */
export interface Proxy {
  port: number;
  /** Sees everything that is on its way to the server. */
  watch(seen: ((words: string, passage: Passage) => void) | undefined): void;
  /** From now on nothing passes on the connections that stand, and they don't end; on new ones where `all`. */
  silence(all?: boolean): void;
  /** From now on new connections pass again. */
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
