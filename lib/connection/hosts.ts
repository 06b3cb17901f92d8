import { asPrintingError } from '../service/errors';
import type { Target } from '../service/paths';
import { record } from '../service/json-readers';
import type { Deadline } from '../time/deadline';
import type { Ask, Asked } from './ask';
import type { Check } from './check';
import { phrase } from '../words/sentence';

/** Longest time to the first answer, ms; a slower host is unusable. */
const PATIENCE = 10_000;

const HOSTS = {
  api: { name: 'apiHost', label: phrase`API host`, path: '/connect/v1' },
  auth: { name: 'accountHost', label: phrase`account host`, path: '/' },
} as const;

/** Checks whether a host answers, by the uptime call, which needs no token (wire facts 1). */
export async function checkHost(
  host: Target['host'],
  url: string,
  ask: Ask,
  deadline: Deadline,
): Promise<{ check: Check; answer?: Asked }> {
  const { name, label, path } = HOSTS[host];
  const where = new URL(url).host;
  const limit = deadline.within(PATIENCE, { cure: phrase`check the address and the network` });
  try {
    const answer = await ask({ host, path }, limit);
    const { status } = answer;
    if (status >= 500)
      return {
        check: { name, ok: false, detail: phrase`${where} fails with status ${status}: try again later.` },
        answer,
      };
    if (isUptime(answer.body)) return { check: { name, ok: true, detail: phrase`${where} answers.` }, answer };
    const detail = phrase`${where} answers with status ${status}, but not like the service: check that it is the ${label}.`;
    return { check: { name, ok: null, detail }, answer };
  } catch (thrown) {
    const error = asPrintingError(thrown);
    const reason = error.code === 'NETWORK' && error.cause instanceof Error ? error.cause.message : null;
    const detail = reason
      ? phrase`${where} was not reached (${reason}): check the address and the network.`
      : phrase`${where}: ${error.sentence}`;
    return { check: { name, ok: false, detail } };
  } finally {
    limit.end();
  }
}

/** Whether the body is an uptime answer, with the `data` envelope or, as older documents show it, without. */
function isUptime(body: unknown): boolean {
  const answer = record(record(body)?.data) ?? record(body);
  return answer?.ok === true;
}
