import { variableOf } from '../lib/rules/text';
import type { EditorNode, Red } from './red';
import { text } from './texts';

declare const RED: Red;

/** Placeholder that Node-RED shows for a stored password. */
export const UNTOUCHED = '__PWRD__';

/** Answer of the runtime to a form. */
interface Outcome<T> {
  answer: T;
  failure?: { status: number; error: string; code: string };
}

/** A request that the runtime could not fulfil. */
class Failure extends Error {
  constructor(
    readonly status: number,
    sentence: string,
    readonly code?: string,
  ) {
    super(sentence);
  }
}

/** State of an account's sign-in (reference 5). */
export interface ShownState {
  state: string;
  user: string | null;
  organizationId: string | null;
  expiresAt: string | null;
  /** Address of the simulator's page for a simulated account. */
  simulatorUrl: string | null;
  error: string | null;
}

/**
 * Sends a request to the runtime (reference 5), with a relative address, so that the admin root and the editor's login
 * apply. Throws an Error with one sentence as the reason.
 */
export const request = <T>(method: 'GET' | 'POST', account: string, path: string, body?: object): Promise<T> =>
  ask(method, `accounts/${encodeURIComponent(account)}${path}`, body);

/** The same for any path of the pack. */
export async function ask<T>(method: 'GET' | 'POST', path: string, body?: object): Promise<T> {
  const { answer, failure } = await send<T>({
    method,
    url: `remote-printing/${path}`,
    cache: false,
    // Requests errors within a 200, which the browser doesn't log to its console.
    headers: { Accept: 'application/vnd.remote-printing.form+json', 'Accept-Language': text('language') },
    dataType: 'json',
    ...(body && { contentType: 'application/json', data: JSON.stringify(body) }),
  });
  if (!failure) return answer;
  throw new Failure(failure.status, failure.status === 404 ? text('picker.deployFirst') : failure.error, failure.code);
}

async function send<T>(settings: JQuery.AjaxSettings): Promise<Outcome<T>> {
  try {
    return (await $.ajax(settings)) as Outcome<T>;
  } catch (thrown) {
    const { status = 0 } = thrown as { status?: number };
    throw new Failure(status, unanswered(status));
  }
}

/** Describes an error response that doesn't come from the pack. */
function unanswered(status: number): string {
  if (status === 401 || status === 403) return text('failure.permission');
  return status ? text('failure.status', { status }) : text('failure.unreachable');
}

/** Whether the runtime doesn't know the account. */
export const isUnknown = (thrown: unknown): boolean => thrown instanceof Failure && thrown.status === 404;

/** One sentence for any thrown value. */
export const reason = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

/** Requests a list of the form's account, deployed or not; rejects with an Error that names the next step. */
export async function accountList<T>(account: string | undefined, path: string): Promise<T[]> {
  if (!account || account === '_ADD_') throw new Error(text('picker.chooseAccount'));
  // Each instance of a subflow may have another account.
  if (variableOf(account) !== null) throw new Error(text('picker.accountOfVariable'));
  // Looked up again after each answer, since an account may be saved meanwhile.
  const inEditor = () => RED.nodes.node(account) as AccountNode | null;
  try {
    if (!inEditor()?.changed) return await request<T[]>('GET', account, path);
  } catch (thrown) {
    if (!isUnknown(thrown) || !inEditor()) throw whyNoList(thrown);
  }
  const node = inEditor();
  return request<T[]>('POST', account, `/typed${path}`, node ? settingsOf(node) : {}).catch((thrown: unknown) => {
    throw whyNoList(thrown);
  });
}

/** Replaces a missing sign-in by the form's own text. */
const whyNoList = (thrown: unknown): unknown =>
  thrown instanceof Failure && thrown.code === 'NOT_SIGNED_IN' ? new Error(text('picker.signInFirst')) : thrown;

/** An account in the editor; it has credentials once its dialog has been open. */
type AccountNode = EditorNode & {
  changed?: boolean;
  credentials?: Record<string, unknown>;
  _def: { defaults: object; credentials: object };
};

/** Settings of an undeployed account, as far as the editor has them. */
function settingsOf(node: AccountNode): Record<string, unknown> {
  const pairs = [
    ...Object.keys(node._def.defaults).map((name) => [name, node[name]] as const),
    ...Object.keys(node._def.credentials).map((name) => [name, node.credentials?.[name]] as const),
  ];
  return Object.fromEntries(pairs.filter(([, value]) => typeof value === 'string' && value !== UNTOUCHED));
}
