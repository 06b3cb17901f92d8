import type { PrintingError } from '../../service/errors';
import { type Lock, LockLostError } from '../../state/membership';

/** The moment in which the request of one poll leaves. Before it, the request may wait for a token or a retry. */
export class Departure implements Pick<Lock, 'secure'> {
  /** The request has its token and has not left yet. */
  #isConnecting = false;

  /**
   * @param isObsolete whether to drop the poll
   * @param onLeave called for each request that leaves
   */
  constructor(
    private readonly isObsolete: () => boolean = () => false,
    private readonly onLeave: () => void = () => undefined,
  ) {}

  /** Resolves with the check of the moment of departure, which throws LockLostError for an obsolete poll. */
  secure(): Promise<() => void> {
    this.#isConnecting = true;
    return Promise.resolve(() => {
      if (this.isObsolete()) throw new LockLostError();
      this.#isConnecting = false;
      this.onLeave();
    });
  }

  /** Whether the poll failed because a refresh of the sign-in is slow or the store is unreachable. */
  lacksToken({ code, outcome }: PrintingError): boolean {
    if (this.#isConnecting) return false;
    return (
      code === 'FILE_NOT_READABLE' || code === 'FILE_NOT_WRITABLE' || (code === 'TIMEOUT' && outcome === 'not-sent')
    );
  }
}
