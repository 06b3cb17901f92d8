import type { PrintingError } from '../service/errors';

/** The list of clusters, among the clusters that can be in trouble. */
export const LIST = '';

/** What one watch knows of outages: each is reported when it begins, and once that all is well again. */
export class Troubles {
  readonly #errors = new Map<string, PrintingError>();
  #since = 0;

  constructor(
    private readonly now: () => number,
    private readonly report: (error: PrintingError | null) => void,
  ) {}

  get state(): { error: PrintingError; since: number } | null {
    const [error] = this.#errors.values();
    return error ? { error, since: this.#since } : null;
  }

  /** Takes what a poll brought. `reported`: somebody else reports it. */
  note(clusterId: string, error: PrintingError | null, reported = false): void {
    if (!error) return this.forget(clusterId);
    const isNew = !this.#errors.has(clusterId);
    if (this.#errors.size === 0) this.#since = this.now();
    this.#errors.set(clusterId, error);
    if (isNew && !reported) this.report(error);
  }

  /** It works again, or is gone. */
  forget(clusterId: string): void {
    if (this.#errors.delete(clusterId) && this.#errors.size === 0) this.report(null);
  }
}
