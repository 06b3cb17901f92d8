/** One request that a listener got. Queries are left out: they carry codes and signatures. */
export interface LoggedRequest {
  origin: string;
  /** Name of the endpoint as in the fault API; `unknown` for a path that is none. */
  endpoint: string;
  method: string;
  path: string;
  /** 0: no answer was given (connection broken off or never answered). */
  status: number;
  /** The client, as it calls itself (`User-Agent`); null: it does not. */
  agent: string | null;
  /** ms since 1970 */
  at: number;
}

const KEPT = 10_000;

/** The requests so far: all are counted, the last ones are kept. */
export class RequestLog {
  private kept: LoggedRequest[] = [];
  private counts = new Map<string, number>();

  add(request: LoggedRequest): void {
    this.kept.push(request);
    if (this.kept.length >= 2 * KEPT) this.kept = this.kept.slice(-KEPT);
    this.counts.set(request.endpoint, this.count(request.endpoint) + 1);
  }

  /** Requests to this endpoint; without a name, to all. */
  count(endpoint?: string): number {
    if (endpoint !== undefined) return this.counts.get(endpoint) ?? 0;
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** In the order of their answers, the oldest first. */
  list(endpoint?: string): LoggedRequest[] {
    return this.kept.filter((request) => endpoint === undefined || request.endpoint === endpoint);
  }

  clear(): void {
    this.kept = [];
    this.counts.clear();
  }
}
