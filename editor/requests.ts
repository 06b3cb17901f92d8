import { text } from './texts';

/** A request that failed, as jQuery rejects it. */
interface Failure {
  status: number;
  responseJSON?: { error?: unknown };
}

/** Who is signed in to an account (reference 5). */
export interface AccountState {
  state: string;
  user: string | { name?: string } | null;
  expiresAt: string | null;
  /** The page of the simulated world that the account runs in. */
  simulatorUrl: string | null;
  error: string | { message?: string } | null;
}

/** Asks the runtime (reference 5) under a relative address, so that the admin root and the editor's own sign-in hold. */
export async function request<T>(method: 'GET' | 'POST', account: string, path: string, body?: object): Promise<T> {
  return (await $.ajax({
    method,
    url: `remote-printing/accounts/${encodeURIComponent(account)}${path}`,
    cache: false,
    headers: { Accept: 'application/json' },
    ...(body && { contentType: 'application/json', data: JSON.stringify(body) }),
  })) as T;
}

const isFailure = (thrown: unknown): thrown is Failure =>
  typeof thrown === 'object' && thrown !== null && 'status' in thrown && typeof thrown.status === 'number';

/** The HTTP status of a failed request; undefined for anything else that was thrown. */
export const statusOf = (thrown: unknown): number | undefined => (isFailure(thrown) ? thrown.status : undefined);

/** One sentence for a failed request, or for anything else that was thrown. */
export function reason(thrown: unknown): string {
  if (!isFailure(thrown)) return thrown instanceof Error ? thrown.message : String(thrown);
  if (thrown.status === 404) return text('picker.deployFirst');
  if (thrown.status === 401) return text('failure.permission');
  if (!thrown.status) return text('failure.unreachable');
  const { error } = thrown.responseJSON ?? {};
  return typeof error === 'string' ? error : text('failure.status', { status: thrown.status });
}

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
  if (statusOf(thrown) === 404) return reason(thrown);
  const asked = await request<AccountState>('GET', account, '').catch(() => undefined);
  const isOut = asked?.state === 'signed-out' || asked?.state === 'sign-in-needed';
  return isOut ? text('picker.signInFirst') : reason(thrown);
}
