import { createServer, type RequestListener, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { gzipSync } from 'node:zlib';

/** A storage outside the simulator that answers each request as the test specifies. */
export class OtherStorage {
  readonly #server: Server;
  url = '';

  private constructor(listener: RequestListener) {
    this.#server = createServer(listener);
  }

  static async start(listener: RequestListener): Promise<OtherStorage> {
    const storage = new OtherStorage(listener);
    await new Promise<void>((resolve) => storage.#server.listen(0, '127.0.0.1', resolve));
    storage.url = `http://127.0.0.1:${(storage.#server.address() as AddressInfo).port}`;
    return storage;
  }

  /** A storage that compresses its answer, although nobody accepts that. */
  static compressed(content: string | Buffer, contentType: string): Promise<OtherStorage> {
    const bytes = gzipSync(content);
    return OtherStorage.start((_request, response) => {
      response.setHeader('content-type', contentType);
      response.setHeader('content-encoding', 'gzip');
      response.end(bytes);
    });
  }

  async stop(): Promise<void> {
    this.#server.closeAllConnections();
    await new Promise((resolve) => this.#server.close(resolve));
  }
}
