import { once } from 'node:events';
import { connect, createServer, type AddressInfo, type Server, type Socket } from 'node:net';

/** Proxy to a port of this machine that can be cut: open connections break, and new ones are refused. */
export class Way {
  readonly #sockets = new Set<Socket>();
  readonly #server: Server;
  #isCut = false;

  private constructor(to: number) {
    this.#server = createServer((from) => {
      const onward = connect(to, '127.0.0.1');
      for (const [one, other] of [
        [from, onward],
        [onward, from],
      ] as const) {
        this.#sockets.add(one);
        one.pipe(other);
        // A break on one side breaks the other side.
        one.on('error', () => other.destroy());
        one.on('close', () => {
          this.#sockets.delete(one);
          other.destroy();
        });
      }
      if (this.#isCut) from.destroy();
    });
  }

  static async to(port: number): Promise<Way> {
    const way = new Way(port);
    way.#server.listen(0, '127.0.0.1');
    await once(way.#server, 'listening');
    return way;
  }

  get port(): number {
    return (this.#server.address() as AddressInfo).port;
  }

  cut(): void {
    this.#isCut = true;
    for (const socket of this.#sockets) socket.destroy();
  }

  mend(): void {
    this.#isCut = false;
  }

  close(): void {
    this.cut();
    this.#server.close();
  }
}
