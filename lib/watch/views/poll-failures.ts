import type { PrintingError } from '../../service/errors';

/** Failed polls that one watch shows. */
export class PollFailures {
  readonly #errors = new Map<string, PrintingError>();
  #since = 0;

  constructor(private readonly now: () => number) {}

  get state(): { error: PrintingError; since: number } | null {
    const [error] = this.#errors.values();
    return error ? { error, since: this.#since } : null;
  }

  /** Records the outcome of a poll. */
  record(clusterId: string, error: PrintingError | null): void {
    if (!error) return this.forget(clusterId);
    if (this.#errors.size === 0) this.#since = this.now();
    this.#errors.set(clusterId, error);
  }

  /** Removes a cluster that works again, or is gone. */
  forget(clusterId: string): void {
    this.#errors.delete(clusterId);
  }
}
