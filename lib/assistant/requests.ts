import { createHash, randomBytes } from 'node:crypto';
import { asPrintingError, type ErrorCode, PrintingError } from '../service/errors';
import { type CurrentScope, type Key, type StateStore, valuesBelow } from '../state/store';
import type { Clock } from '../time/clock';
import { phrase } from '../words/sentence';
import type { Arguments } from './schema';

/** Time for which keys and handles are remembered, ms. */
const KEPT = 90 * 24 * 60 * 60 * 1000;

export type RequestState = 'waiting' | 'running' | 'done' | 'refused' | 'expired' | 'failed' | 'unknown';

/** Failure of a tool, for an assistant. */
export interface Failure {
  code: ErrorCode;
  message: string;
  /** Whether the same call may succeed later. */
  retriable: boolean;
}

/** Saved record of a request to act, under `['assistant-request', ...scope, nodeId, handle]`. Times in ms since 1970. */
export interface RequestRecord {
  version: 1;
  tool: string;
  arguments: Arguments;
  state: RequestState;
  /** Whether its work may have begun: written before the work. */
  hasBegun: boolean;
  /** Id that a person's answer names; null: no answer is needed. */
  requestId: string | null;
  /** Sentence and cost that the person sees. */
  shown: { sentence: string; dryRun: object } | null;
  /** Whether the flow has got it. */
  wasSent: boolean;
  askedAt: number;
  expiresAt: number | null;
  /** Facts that the tool has found or made. */
  facts: object;
  failure: Failure | null;
}

/** A request with the handle that it was filed under. */
export interface Filed {
  handle: string;
  record: RequestRecord;
}

interface RequestsOptions {
  store: StateStore;
  scope: CurrentScope;
  nodeId: string;
  clock: Clock;
}

/** The requests to act of one node, by the caller's key, durable before anything happens. */
export class AssistantRequests {
  readonly #options: RequestsOptions;
  /** When requests of this process expire, monotonic, ms: a wall clock that is set back does not prolong them. */
  readonly #ends = new Map<string, number>();

  constructor(options: RequestsOptions) {
    this.#options = options;
  }

  /** The handle of a key, which tells nothing about what a person answers to. */
  handleOf(key: string): string {
    return createHash('sha256')
      .update(JSON.stringify([this.#options.nodeId, key]))
      .digest('base64url')
      .slice(0, 32);
  }

  /** The request, with its end if it has expired. */
  async find(handle: string): Promise<Filed | null> {
    const record = await this.#options.store.get<RequestRecord>(await this.#key(handle));
    if (record?.state !== 'waiting' || !this.isOver(handle, record)) return record ? { handle, record } : null;
    return this.change(handle, (now) => (now.state === 'waiting' ? { ...now, state: 'expired' } : now));
  }

  /**
   * Files a request, unless its key has one already. `expires`: ms within which a person must answer; null: no person is
   * asked.
   */
  async file(
    handle: string,
    request: Pick<RequestRecord, 'tool' | 'arguments' | 'shown'>,
    expires: number | null,
  ): Promise<Filed & { isNew: boolean }> {
    const { clock, store } = this.#options;
    const filing = { isNew: false };
    const record = await store.update<RequestRecord>(
      await this.#key(handle),
      (known) => {
        if (known) return known;
        filing.isNew = true;
        const askedAt = clock.now();
        return {
          version: 1,
          ...request,
          ...{ state: expires === null ? 'running' : 'waiting', hasBegun: false, wasSent: false, askedAt },
          requestId: expires === null ? null : `${handle}.${randomBytes(16).toString('base64url')}`,
          expiresAt: expires === null ? null : askedAt + expires,
          ...{ facts: {}, failure: null },
        };
      },
      { keepFor: KEPT },
    );
    if (filing.isNew && expires !== null) this.#ends.set(handle, clock.monotonic() + expires);
    return { handle, record: record ?? never(), ...filing };
  }

  /** A person's answer. Resolves with the request once the answer is durable. Throws INVALID_INPUT for any but the first. */
  async answer(requestId: string, isApproved: boolean): Promise<Filed> {
    const [handle = ''] = requestId.split('.');
    const filed = await this.find(handle);
    if (filed?.record.requestId !== requestId) throw new PrintingError('INVALID_INPUT', NOBODY_ASKED);
    const answer = { isTaken: false };
    const changed = await this.change(handle, (record) => {
      answer.isTaken = record.state === 'waiting' && !this.isOver(handle, record);
      return answer.isTaken ? { ...record, state: isApproved ? 'running' : 'refused' } : record;
    });
    if (!answer.isTaken) throw new PrintingError('INVALID_INPUT', OVER);
    this.#ends.delete(handle);
    return changed;
  }

  /** Replaces a record. `insist`: the change tells what has already happened. */
  async change(handle: string, change: (record: RequestRecord) => RequestRecord, insist = false): Promise<Filed> {
    const record = await this.#options.store.update<RequestRecord>(
      await this.#key(handle),
      (now) => (now ? change(now) : undefined),
      { keepFor: KEPT, insist },
    );
    return { handle, record: record ?? never() };
  }

  /** Runs `work` alone for a request, among all runtimes. */
  async alone<T>(handle: string, work: () => Promise<T>): Promise<T> {
    const lock: Key = ['assistant-request-lock', ...(await this.#options.scope()), this.#options.nodeId, handle];
    return this.#options.store.waitForLock(lock, work);
  }

  /** All requests that are not over. */
  async open(): Promise<Filed[]> {
    const prefix: Key = ['assistant-request', ...(await this.#options.scope()), this.#options.nodeId];
    const found: Filed[] = [];
    const filed = valuesBelow<RequestRecord>(this.#options.store, prefix, { limit: 100, unread: () => undefined });
    for await (const { key, value } of filed)
      if (value.state === 'running' || (value.state === 'waiting' && !value.wasSent))
        found.push({ handle: key.at(-1) ?? '', record: value });
    return found;
  }

  async #key(handle: string): Promise<Key> {
    return ['assistant-request', ...(await this.#options.scope()), this.#options.nodeId, handle];
  }

  /**
   * Whether the time of a request is over. In doubt, such as with a clock that was set back, it is.
   * @param unasked that of a request about which nobody is asked, ms
   */
  isOver(handle: string, { askedAt, expiresAt }: RequestRecord, unasked = Infinity): boolean {
    const { clock } = this.#options;
    const now = clock.now();
    const isLate = now >= (expiresAt ?? askedAt + unasked) || now < askedAt;
    return isLate || clock.monotonic() >= (this.#ends.get(handle) ?? Infinity);
  }
}

/** The failure of a tool, as an assistant reads it. */
export function failureOf(thrown: unknown): Failure {
  const { code, message } = asPrintingError(thrown);
  return { code, message, retriable: LATER.has(code) };
}

const LATER: ReadonlySet<ErrorCode> = new Set([
  'TIMEOUT',
  'NETWORK',
  'RATE_LIMITED',
  'SERVICE_ERROR',
  'QUEUE_ITEM_BUSY',
  'FILE_NOT_WRITABLE',
  'FILE_NOT_READABLE',
]);

function never(): never {
  throw new PrintingError('NOT_FOUND', phrase`The request is not known any more.`);
}

const NOBODY_ASKED = phrase`Nobody asked for this answer: set msg.requestId to that of a request of this node.`;
const OVER = phrase`The request was answered already or has expired: let the assistant ask again.`;
