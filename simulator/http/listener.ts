import { createServer, type IncomingMessage, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo, Socket } from 'node:net';

export interface Origin {
  url: string;
  close(): Promise<void>;
}

/** Answers one request; `closing` aborts when the listener closes. A rejection breaks the connection. */
export type Handler = (request: IncomingMessage, response: ServerResponse, closing: AbortSignal) => Promise<void>;

/** Starts an HTTP server on one port; 0 is any free port. */
export async function startListener(
  { host, port: wanted }: { host: string; port: number },
  handle: Handler,
): Promise<Origin> {
  const closing = new AbortController();
  const sockets = new Set<Socket>();
  const server = createServer((request, response) => {
    // A broken connection only loses its answer.
    response.on('error', () => undefined);
    handle(request, response, closing.signal).catch(() => response.destroy());
  });
  // Large uploads need time, and a short keep-alive timeout would race with clients that reuse connections.
  server.requestTimeout = 0;
  server.keepAliveTimeout = 60_000;
  server.on('connection', (socket) => {
    sockets.add(socket);
    socket.on('close', () => sockets.delete(socket));
  });
  await listen(server, wanted, host);
  // A connection that can't be accepted (for example, with too many open files) must not end the process.
  server.on('error', () => undefined);
  const { port } = server.address() as AddressInfo;
  return {
    url: `http://${host.includes(':') ? `[${host}]` : host}:${port}`,
    close: () =>
      new Promise((resolve) => {
        closing.abort();
        server.close(() => resolve());
        for (const socket of sockets) socket.destroy();
      }),
  };
}

function listen(server: Server, port: number, host: string): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve();
    });
  });
}
