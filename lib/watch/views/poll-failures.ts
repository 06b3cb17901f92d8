import type { PrintingError } from '../../service/errors';

/** The list of clusters, among the clusters that can be in trouble. */
export const LIST = '';

/** The failing polls that one watch shows. */
export class PollFailures {
  readonly #errors = new Map<string, PrintingError>();
  #since = 0;

  constructor(private readonly now: () => number) {}

  get state(): { error: PrintingError; since: number } | null {
    const [error] = this.#errors.values();
    return error ? { error, since: this.#since } : null;
  }

  /** Keeps what a poll brought. */
  note(clusterId: string, error: PrintingError | null): void {
    if (!error) return this.forget(clusterId);
    if (this.#errors.size === 0) this.#since = this.now();
    this.#errors.set(clusterId, error);
  }

  /** The cluster works again, or is gone. */
  forget(clusterId: string): void {
    this.#errors.delete(clusterId);
  }
}
