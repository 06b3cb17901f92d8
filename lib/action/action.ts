import type { ApiClient } from '../account/api-client';
import { PrintingError } from '../service/errors';
import type { PathParameter } from '../service/paths';
import { record, single, text, type Json } from '../service/json-readers';
import { AGAIN, pollMade, WORK_IN_PROGRESS } from '../time/retry';
import type { Deadline } from '../time/deadline';
import { phrase, type Sentence } from '../words/sentence';

export interface ActionRequest {
  /** A printer's action (interface, endpoint 12) or a print job's (wire facts 13.1). */
  endpoint: 'printerAction' | 'jobAction';
  /** Ids of the printer or the print job, and the name of the action. */
  ids: Partial<Record<PathParameter, string>> & { cluster_id: string; action: string };
  data?: Json;
  /** The action, as an error sentence names it: `the picture`. */
  what: Sentence;
  deadline: Deadline;
}

/** State of an action in an answer of the service (interface, Printer action). */
export interface Action {
  actionId: string | null;
  status: string | null;
  /** `status_details`. */
  details: Json | null;
  /** The service's own `data`, unchanged. */
  raw: unknown;
}

/** Statuses of an action in progress (wire facts 9). */
const OPEN = ['pending', 'sent'];
const FAILED = ['failed', 'unknown'];

/**
 * Meaning of an action's status. `new` is an unknown status, which may mean work in progress: it is polled further, and
 * counts as a failure at the deadline (wire facts, trap 40).
 */
export function meaning(status: string | null): 'open' | 'success' | 'failed' | 'new' {
  const word = status?.toLowerCase();
  if (word === undefined || OPEN.includes(word)) return 'open';
  if (word === 'success') return 'success';
  return FAILED.includes(word) ? 'failed' : 'new';
}

/**
 * Sends an action once: only the caller can decide about a repeat after a lost answer, as it depends on the action.
 * Throws the errors of the service's calls.
 */
export async function dispatchAction(service: ApiClient, request: ActionRequest): Promise<Action> {
  const { endpoint, ids, data = {}, what, deadline } = request;
  return read((await service.call(endpoint, { ids, data, what, deadline })).data);
}

/**
 * Polls an action until it succeeds. Calls `onStatus` with each state, including the first. Throws ACTION_FAILED,
 * SERVICE_ERROR if the action has no id to poll, and the errors of the service's calls.
 */
export function followAction(
  service: ApiClient,
  { ids: { cluster_id }, what, deadline }: ActionRequest,
  dispatched: Action,
  onStatus: (action: Action) => void,
): Promise<Action> {
  const { actionId } = dispatched;
  let action = dispatched;
  return pollMade(deadline, WORK_IN_PROGRESS, async (polls) => {
    if (polls > 0 && actionId !== null) {
      const call = { ids: { cluster_id, action_id: actionId }, what: phrase`the action`, deadline };
      action = { ...read((await service.call('actionStatus', call)).data), actionId };
    }
    onStatus(action);
    const means = meaning(action.status);
    if (means === 'success') return action;
    if (means === 'failed') throw failed(action.status, what);
    if (actionId === null) {
      const sentence = phrase`The service accepted ${what}, but named no action to follow: check the printer.`;
      throw new PrintingError('SERVICE_ERROR', sentence, { outcome: 'unknown' });
    }
    return AGAIN;
  });
}

/** The error of an action that did not end in time: failed if its last status is unknown, otherwise `reason`. */
export function atLimit(reason: PrintingError, status: string | null, what: Sentence): PrintingError {
  return reason.code === 'TIMEOUT' && meaning(status) === 'new' ? failed(status, what) : reason;
}

function read(data: unknown): Action {
  const wire = single(data);
  return {
    actionId: text(wire?.action_id),
    status: text(wire?.status),
    details: record(wire?.status_details),
    raw: data,
  };
}

const failed = (status: string | null, what: Sentence): PrintingError =>
  new PrintingError(
    'ACTION_FAILED',
    phrase`The printer did not carry out ${what} (${status?.slice(0, 60) ?? phrase`no status`}): check the printer and try again.`,
  );
