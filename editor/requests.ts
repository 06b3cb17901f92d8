import type { EditorNode, Red } from './red';
import { text } from './texts';

declare const RED: Red;

/** What Node-RED shows in place of a stored password. */
export const UNTOUCHED = '__PWRD__';

/** What the runtime answers to forms. */
interface Outcome<T> {
  answer: T;
  failure?: { status: number; error: string; code: string };
}

/** A request that the runtime could not carry out. */
class Failure extends Error {
  constructor(
    readonly status: number,
    sentence: string,
    readonly code?: string,
  ) {
    super(sentence);
  }
}

/** Who is signed in to an account (reference 5). */
export interface AccountState {
  state: string;
  user: string | null;
  organizationId: string | null;
  expiresAt: string | null;
  /** The page of the simulated world that the account runs in. */
  simulatorUrl: string | null;
  error: string | null;
}

/**
 * Asks the runtime (reference 5) under a relative address, so that the admin root and the editor's own sign-in hold.
 * Throws an Error that says in one sentence why not.
 */
export async function request<T>(method: 'GET' | 'POST', account: string, path: string, body?: object): Promise<T> {
  const { answer, failure } = await send<T>({
    method,
    url: `remote-printing/accounts/${encodeURIComponent(account)}${path}`,
    cache: false,
    // What went wrong comes within a 200 then, and nothing about it in the browser's console.
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

/** For an answer that did not come from our side of the runtime. */
function unanswered(status: number): string {
  if (status === 401 || status === 403) return text('failure.permission');
  return status ? text('failure.status', { status }) : text('failure.unreachable');
}

/** Whether the runtime has no such account. */
export const isUnknown = (thrown: unknown): boolean => thrown instanceof Failure && thrown.status === 404;

/** One sentence for anything that was thrown. */
export const reason = (thrown: unknown): string => (thrown instanceof Error ? thrown.message : String(thrown));

/** A list of an account that a form names, deployed or not; rejects with an Error that says what to do first. */
export async function accountList<T>(account: string | undefined, path: string): Promise<T[]> {
  if (!account || account === '_ADD_') throw new Error(text('picker.chooseAccount'));
  // Asked for anew after each answer: one that is just being saved is there a moment later.
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

/** Not signed in is said as such, whatever words the runtime used. */
const whyNoList = (thrown: unknown): unknown =>
  thrown instanceof Failure && thrown.code === 'NOT_SIGNED_IN' ? new Error(text('picker.signInFirst')) : thrown;

/** An account in the editor; credentials are there once its dialog was open. */
type AccountNode = EditorNode & {
  changed?: boolean;
  credentials?: Record<string, unknown>;
  _def: { defaults: object; credentials: object };
};

/** The settings of an account that was saved but not deployed, as far as the editor has them. */
function settingsOf(node: AccountNode): Record<string, unknown> {
  const pairs = [
    ...Object.keys(node._def.defaults).map((name) => [name, node[name]] as const),
    ...Object.keys(node._def.credentials).map((name) => [name, node.credentials?.[name]] as const),
  ];
  return Object.fromEntries(pairs.filter(([, value]) => typeof value === 'string' && value !== UNTOUCHED));
}
