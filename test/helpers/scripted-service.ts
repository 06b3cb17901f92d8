import type { Answer, CallOptions, ApiClient } from '../../lib/account/api-client';
import type { EndpointName } from '../../lib/service/paths';

/** Outcome of a call: its `data`, an error to throw, or a function that computes either. */
type Step = unknown;

/** An ApiClient that answers from a script, one for all calls or one per endpoint; the last step repeats forever. */
export class ScriptedService implements ApiClient {
  readonly calls: ({ endpoint: EndpointName } & CallOptions)[] = [];

  constructor(private readonly script: Step[] | Partial<Record<EndpointName, Step[]>>) {}

  async call(endpoint: EndpointName, options: CallOptions): Promise<Answer> {
    options.deadline.throwIfOver();
    this.calls.push({ endpoint, ...options });
    const steps = Array.isArray(this.script) ? this.script : this.script[endpoint];
    if (!steps?.length) throw new Error(`${endpoint} was not expected.`);
    const step: unknown = steps.length > 1 ? steps.shift() : steps[0];
    const data: unknown =
      typeof step === 'function' ? await (step as (...call: unknown[]) => unknown)(options, endpoint) : step;
    if (data instanceof Error) throw data;
    return { status: 200, data, body: { data } };
  }

  count(endpoint: EndpointName): number {
    return this.calls.filter((call) => call.endpoint === endpoint).length;
  }
}
