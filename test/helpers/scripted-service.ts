import type { Answer, CallOptions, ApiClient } from '../../lib/account/api-client';
import { record } from '../../lib/service/json-readers';
import type { EndpointName } from '../../lib/service/paths';

/** Outcome of a call: its `data`, a whole answer, an error to throw, or a function that computes one of them. */
type Step = unknown;
type Script = Step[] | Partial<Record<EndpointName, Step[]>>;

/** An answer whose body has more than `data`. */
export class WholeAnswer implements Answer {
  readonly status = 200;
  readonly data: unknown;

  constructor(
    readonly body: unknown,
    readonly size: NonNullable<Answer['size']> = { bytes: 0, elements: 0 },
  ) {
    this.data = record(body)?.data;
  }
}

/** An ApiClient that answers from a script, one for all calls or one per endpoint; the last step repeats forever. */
export class ScriptedService implements ApiClient {
  readonly calls: ({ endpoint: EndpointName } & CallOptions)[] = [];

  constructor(private readonly script: Script = {}) {}

  async call(endpoint: EndpointName, options: CallOptions): Promise<Answer> {
    options.deadline.throwIfOver();
    if (options.lock) (await options.lock.secure(0))();
    this.calls.push({ endpoint, ...options });
    const outcome = await this.outcome(endpoint, options);
    if (outcome instanceof Error) throw outcome;
    return outcome instanceof WholeAnswer ? outcome : { status: 200, data: outcome, body: { data: outcome } };
  }

  /** Number of calls of an endpoint, or with its id: `clusterStatus C1`. */
  count(what: string): number {
    return this.calls.filter((call) => call.endpoint === what || callOf(call.endpoint, call) === what).length;
  }

  /** Returns the outcome of a call, as a step of the script does. */
  protected outcome(endpoint: EndpointName, options: CallOptions): unknown {
    const steps = Array.isArray(this.script) ? this.script : this.script[endpoint];
    if (!steps?.length) throw new Error(`${endpoint} was not expected.`);
    const step: unknown = steps.length > 1 ? steps.shift() : steps[0];
    return typeof step === 'function' ? (step as (...call: unknown[]) => unknown)(options, endpoint) : step;
  }
}

/** The id or the page that a call names. */
export const idOf = ({ ids, query }: Pick<CallOptions, 'ids' | 'query'>): string =>
  ids?.cluster_job_id ?? ids?.cluster_id ?? query?.page ?? '';

/** A call in short form: `clusterStatus C1`. */
export const callOf = (endpoint: EndpointName, options: Pick<CallOptions, 'ids' | 'query'>): string =>
  `${endpoint} ${idOf(options)}`.trim();
