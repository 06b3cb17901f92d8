/** One request to a host. Omits the query, which contains codes and signatures. */
export interface LoggedRequest {
  origin: string;
  /** Name of the endpoint as in the fault API; `unknown` for an unknown path. */
  endpoint: string;
  method: string;
  path: string;
  /** Status of the answer; 0 without an answer (reset or never answered). */
  status: number;
  /** The client's `User-Agent`; null without one. */
  agent: string | null;
  /** Time, ms since 1970. */
  at: number;
}

const KEPT = 10_000;

/** The requests so far: counts all, and keeps the last ones. */
export class RequestLog {
  private kept: LoggedRequest[] = [];
  private counts = new Map<string, number>();

  add(request: LoggedRequest): void {
    this.kept.push(request);
    if (this.kept.length >= 2 * KEPT) this.kept = this.kept.slice(-KEPT);
    this.counts.set(request.endpoint, this.count(request.endpoint) + 1);
  }

  /** Number of requests to this endpoint, or to all. */
  count(endpoint?: string): number {
    if (endpoint !== undefined) return this.counts.get(endpoint) ?? 0;
    return [...this.counts.values()].reduce((sum, count) => sum + count, 0);
  }

  /** Requests in the order of their answers, oldest first. */
  list(endpoint?: string): LoggedRequest[] {
    return this.kept.filter((request) => endpoint === undefined || request.endpoint === endpoint);
  }

  clear(): void {
    this.kept = [];
    this.counts.clear();
  }
}
