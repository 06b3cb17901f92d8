import { text } from './texts';

/** What the runtime answers to forms. */
interface Outcome<T> {
  answer: T;
  failure?: { status: number; error: string };
}

/** A request that the runtime could not carry out. */
class Failure extends Error {
  constructor(
    readonly status: number,
    sentence: string,
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
    headers: { Accept: 'application/vnd.remote-printing.form+json' },
    dataType: 'json',
    ...(body && { contentType: 'application/json', data: JSON.stringify(body) }),
  });
  if (!failure) return answer;
  throw new Failure(failure.status, failure.status === 404 ? text('picker.deployFirst') : failure.error);
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

/** A list of the account as choices; rejects with an Error that says what to do first. */
export async function accountList<T>(
  account: string | undefined,
  path: string,
  toChoice: (item: T) => Choice,
): Promise<Choice[]> {
  if (!account || account === '_ADD_') throw new Error(text('picker.chooseAccount'));
  try {
    const list = await request<T[]>('GET', account, path);
    return list.map(toChoice);
  } catch (thrown) {
    throw new Error(await whyNoList(account, thrown), { cause: thrown });
  }
}

/** A line of a select. */
export interface Choice {
  value: string;
  label: string;
}

/** Not signed in is said as such, whatever words the runtime used. */
async function whyNoList(account: string, thrown: unknown): Promise<string> {
  if (isUnknown(thrown)) return reason(thrown);
  const asked = await request<AccountState>('GET', account, '').catch(() => undefined);
  const isOut = asked?.state === 'signed-out' || asked?.state === 'sign-in-needed';
  return isOut ? text('picker.signInFirst') : reason(thrown);
}
