import { asPrintingError, PrintingError } from '../service/errors';
import type { CurrentScope, StateStore } from '../state/store';
import type { Clock } from '../time/clock';
import { type Deadline, underDeadline } from '../time/deadline';
import { phrase, type Sentence } from '../words/sentence';
import { ACTS, type ActingWorkshop, type Preview } from './acting';
import { inWords, LOOKS } from './looking';
import { type ClientName, CODES, ProtocolError, type ToolResult } from './protocol';
import { CallRate } from './rate';
import { AssistantRequests, failureOf, type Filed, type RequestRecord, type RequestState } from './requests';
import { type Arguments, plainArguments, readArguments } from './schema';
import { type Allow, listed, type Tool, TOOLS } from './tools';

/** Longest time for an answer: clients wait for 20 s, of which the way takes some. ms. */
const ANSWER = 19_000;
/** Longest time for the work of a request, ms. */
const WORK = 120_000;

/** Question that a flow passes on to the person who decides about a request. */
export interface Question {
  requestId: string;
  tool: string;
  arguments: Arguments;
  sentence: string;
  dryRun: object;
}

/** Entry of the log of calls. */
export interface CallReport {
  tool: string;
  arguments: Arguments;
  state: string;
  code: string | null;
  client: ClientName | null;
}

interface AssistantOptions {
  workshop: ActingWorkshop;
  allow: Allow;
  /** Time within which a person must answer, ms. */
  expires: number;
  nodeId: string;
  store: StateStore;
  scope: CurrentScope;
  clock: Clock;
  /** Aborts when the node closes. */
  signal: AbortSignal;
  /** For people. */
  translate: (sentence: Sentence) => string;
  ask: (question: Question) => void;
  report: (call: CallReport) => void;
  warn: (thrown: unknown) => void;
}

/** The tools of one node: looks, and requests to act that are done once and, if so set, after a person's OK. */
export class Assistant {
  readonly #options: AssistantOptions;
  readonly #requests: AssistantRequests;
  readonly #rate: CallRate;
  readonly #running = new Map<string, Promise<Filed>>();
  /** Requests about which this process has asked a person. */
  readonly #asked = new Set<string>();

  constructor(options: AssistantOptions) {
    this.#options = options;
    this.#requests = new AssistantRequests(options);
    this.#rate = new CallRate(options.clock);
  }

  /** Entries of `tools/list`. */
  tools(): object[] {
    return this.#known.filter(({ acts }) => !acts || this.#options.allow !== 'look').map(listed);
  }

  get #known(): Tool[] {
    return TOOLS.filter(({ queue }) => !queue || this.#options.workshop.queue !== null);
  }

  /** Throws ProtocolError for an unknown tool, and for too many calls. */
  async call(name: string, given: unknown, client: ClientName | null): Promise<ToolResult> {
    const { clock, signal, report } = this.#options;
    const tool = this.#known.find((known) => known.name === name);
    const told = { tool: name.slice(0, 100), arguments: tool ? plainArguments(tool.input, given) : {}, client };
    const wait = this.#rate.take();
    if (wait > 0) {
      report({ ...told, state: 'refused', code: 'RATE_LIMITED' });
      throw new ProtocolError(CODES.rate, `Too many calls: try again in ${wait} s.`, { status: 429, retryAfter: wait });
    }
    if (!tool) {
      report({ ...told, state: 'refused', code: 'NOT_FOUND' });
      throw new ProtocolError(CODES.params, `Unknown tool: ${name.slice(0, 100)}`);
    }
    try {
      const work = (deadline: Deadline) => this.#work(tool, given, deadline);
      const { state, code, ...result } = await underDeadline(clock, { ms: ANSWER, parent: signal }, work);
      report({ ...told, state, code });
      return result;
    } catch (thrown) {
      const { code, message, retriable } = failureOf(thrown);
      report({ ...told, state: 'failed', code });
      return { structured: { code, message, retriable }, isError: true };
    }
  }

  async #work(
    tool: Tool,
    given: unknown,
    deadline: Deadline,
  ): Promise<ToolResult & { state: string; code: string | null }> {
    const { workshop, allow } = this.#options;
    if (tool.acts && allow === 'look')
      throw new PrintingError('FORBIDDEN', phrase`The node only lets assistants look: its owner can allow more.`);
    const read = readArguments(tool.input, given);
    const look = LOOKS[tool.name];
    if (look)
      return { ...(await deadline.wait(look(workshop, read, deadline))), isError: false, state: 'done', code: null };
    if (tool.name === 'read_request') return this.#shown(await this.#read(String(read.handle), deadline), true);
    return this.#act(tool, read, deadline);
  }

  async #act(tool: Tool, { key, dryRun, ...given }: Arguments, deadline: Deadline) {
    const { workshop, allow, expires } = this.#options;
    const handle = this.#requests.handleOf(String(key));
    if (dryRun !== true) {
      const known = await deadline.wait(this.#requests.find(handle));
      if (known) return this.#repeat(known, tool, given, deadline);
    }
    const preview = await deadline.wait(actOf(tool.name).preview(workshop, given, deadline, dryRun === true));
    if (dryRun === true) {
      const structured = { ...this.#dry(preview), state: 'done', dryRun: true, next: [tool.name] };
      return { structured, isError: false, state: 'done', code: null };
    }
    const shown = { sentence: this.#options.translate(preview.sentence), dryRun: this.#dry(preview) };
    const request = { tool: tool.name, arguments: given, shown };
    const filed = await deadline.wait(this.#requests.file(handle, request, allow === 'ask' ? expires : null));
    if (!filed.isNew) return this.#repeat(filed, tool, given, deadline);
    if (filed.record.state !== 'waiting') return this.#shown(await this.#awaited(filed, deadline, true), false);
    await this.#send(filed);
    return this.#shown(filed, false);
  }

  #dry = ({ sentence, estimate }: Preview): object => ({ sentence: String(sentence), estimate });

  async #repeat(known: Filed, tool: Tool, given: Arguments, deadline: Deadline) {
    const { record } = known;
    if (record.tool !== tool.name || !isSame(record.arguments, given))
      throw new PrintingError('INVALID_INPUT', phrase`The key was used for something else: use a new one.`);
    return this.#shown(await this.#awaited(known, deadline, this.#options.allow === 'act'), true);
  }

  async #read(handle: string, deadline: Deadline): Promise<Filed> {
    const known = await deadline.wait(this.#requests.find(handle));
    if (!known)
      throw new PrintingError('NOT_FOUND', phrase`No request has this handle: use the one that a tool answered with.`);
    return this.#awaited(known, deadline, false);
  }

  /** The request after its work, or as it is at the deadline. */
  async #awaited(filed: Filed, deadline: Deadline, isWanted: boolean): Promise<Filed> {
    // Its record may have been written only after the node had closed.
    if (filed.record.state === 'waiting' && !filed.record.wasSent) await deadline.wait(this.#send(filed));
    if (filed.record.state !== 'running' && filed.record.state !== 'unknown') return filed;
    const running = this.#carryOut(filed.handle, isWanted);
    return deadline.wait(running).catch((thrown: unknown) => {
      if (deadline.aborted) return filed;
      throw thrown;
    });
  }

  /** Gives a question to the flow. After a crash it may come twice, with the same id. */
  async #send({ handle, record: { requestId, tool, arguments: given, shown } }: Filed): Promise<void> {
    const { allow, signal } = this.#options;
    if (requestId === null || !shown || allow === 'look' || signal.aborted || this.#asked.has(handle)) return;
    this.#asked.add(handle);
    this.#options.ask({ requestId, tool, arguments: given, ...shown });
    await this.#requests.change(handle, (record) => ({ ...record, wasSent: true })).catch(this.#options.warn);
  }

  /** Takes a person's answer, and begins the work. Throws INVALID_INPUT for anything but the first answer in time. */
  async answer(requestId: unknown, approve: unknown): Promise<void> {
    if (typeof requestId !== 'string' || requestId.length > 200)
      throw new PrintingError('INVALID_INPUT', phrase`The message answers no request: set msg.requestId.`);
    if (typeof approve !== 'boolean')
      throw new PrintingError('INVALID_INPUT', phrase`The answer must be true or false: set msg.approve.`);
    if (this.#options.allow === 'look')
      throw new PrintingError('INVALID_INPUT', phrase`The node only lets assistants look: its owner can allow more.`);
    const filed = await this.#requests.answer(requestId, approve);
    this.#asked.delete(filed.handle);
    if (approve) this.#carryOut(filed.handle, true).catch(this.#options.warn);
  }

  /** Goes on with what a restart interrupted. */
  async resume(): Promise<void> {
    for (const filed of await this.#requests.open()) {
      if (this.#options.signal.aborted) return;
      if (filed.record.state === 'waiting') await this.#send(filed);
      else this.#carryOut(filed.handle, false).catch(this.#options.warn);
    }
  }

  /** Resolves when the work under way has ended, which the close cuts short, and what is known of it is written. */
  async settled(): Promise<void> {
    await Promise.allSettled(this.#running.values());
  }

  /**
   * Does the work of a request, once; of one whose outcome is unknown, looks again.
   * @param isWanted whether somebody asks for the work right now, or approves it
   */
  #carryOut(handle: string, isWanted: boolean): Promise<Filed> {
    const running = this.#running.get(handle) ?? this.#requests.alone(handle, () => this.#doOnce(handle, isWanted));
    if (!this.#running.has(handle)) {
      this.#running.set(handle, running);
      const end = () => this.#running.delete(handle);
      running.then(end, end);
    }
    return running;
  }

  async #doOnce(handle: string, isWanted: boolean): Promise<Filed> {
    const { clock, signal } = this.#options;
    const filed = await this.#requests.find(handle);
    if (!filed) throw new PrintingError('NOT_FOUND', phrase`The request is not known any more.`);
    // The node's successor begins it.
    signal.throwIfAborted();
    const { record } = filed;
    if (record.state !== 'running' && record.state !== 'unknown') return filed;
    const hadBegun = record.hasBegun;
    if (!hadBegun && !this.#mayBegin(filed, isWanted))
      return this.#requests.change(handle, (now) => ({ ...now, state: 'expired' }));
    // From here on, a crash leaves open whether it was done.
    if (!hadBegun) await this.#requests.change(handle, (now) => ({ ...now, hasBegun: true }));
    const work = (deadline: Deadline) => this.#outcomeOf(handle, record, hadBegun, deadline);
    const outcome = await underDeadline(clock, { ms: WORK, parent: signal }, work);
    // The work can't be undone, so the store insists on its outcome.
    return this.#requests
      .change(handle, (now) => ({ ...now, ...outcome }), true)
      .catch(() => ({ handle, record: { ...record, ...outcome } }));
  }

  /** Whether the node still permits work that has not begun, and the wish or the OK for it is not too old. */
  #mayBegin({ handle, record }: Filed, isWanted: boolean): boolean {
    const { allow } = this.#options;
    const isPermitted = allow === 'act' || (allow === 'ask' && record.requestId !== null);
    return isPermitted && (isWanted || !this.#requests.isOver(handle, record, WORK));
  }

  async #outcomeOf(
    handle: string,
    { tool, arguments: given, failure, state }: RequestRecord,
    hadBegun: boolean,
    deadline: Deadline,
  ): Promise<Pick<RequestRecord, 'state' | 'facts' | 'failure'>> {
    const { workshop, signal } = this.#options;
    const { run, repeats, isDone } = actOf(tool);
    try {
      if (!hadBegun || repeats)
        return { state: 'done', facts: await run(workshop, given, `assistant/${handle}`, deadline), failure: null };
      if (await isDone(workshop, given, deadline)) return { state: 'done', facts: {}, failure: null };
      return { state: 'unknown', facts: {}, failure: failure ?? failureOf(INTERRUPTED) };
    } catch (thrown) {
      // The node's successor goes on.
      if (signal.aborted) throw thrown;
      const error = asPrintingError(thrown);
      const isOpen =
        error.code === 'PRINT_OUTCOME_UNKNOWN' || (hadBegun && !repeats) || (error.outcome === 'unknown' && !repeats);
      // A look that fails leaves an open outcome open.
      const remains = state === 'unknown' && failureOf(error).retriable;
      return {
        state: isOpen || remains ? 'unknown' : 'failed',
        facts: {},
        failure: remains && failure ? failure : failureOf(error),
      };
    }
  }

  #shown({ handle, record: { tool, state, facts, failure } }: Filed, repeated: boolean) {
    const { code, message, retriable } = failure ?? { code: null, message: null, retriable: false };
    const structured = inWords({
      state,
      handle,
      repeated,
      tool,
      code,
      message,
      retriable,
      ...facts,
      next: NEXT[state],
    }) as object;
    return { structured, isError: state === 'failed' || state === 'unknown', state, code };
  }
}

const NEXT: Readonly<Record<RequestState, readonly string[]>> = {
  ...{ waiting: ['read_request'], running: ['read_request'], done: ['list_printers', 'list_jobs'] },
  ...{ refused: [], expired: [], failed: ['list_printers'], unknown: ['read_request', 'list_jobs'] },
};

function actOf(tool: string): (typeof ACTS)[string] {
  const act = ACTS[tool];
  if (!act) throw new PrintingError('NOT_FOUND', phrase`The request is not known any more.`);
  return act;
}

const isSame = (one: Arguments, other: Arguments): boolean =>
  JSON.stringify(sorted(one)) === JSON.stringify(sorted(other));
const sorted = (given: Arguments) => Object.entries(given).sort(([a], [b]) => (a < b ? -1 : 1));

const INTERRUPTED = new PrintingError(
  'ACTION_FAILED',
  phrase`Node-RED stopped while this was done: look at the printers before you ask again.`,
);
