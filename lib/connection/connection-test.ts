import { AuthenticatedApiClient } from '../account/authenticated-api-client';
import type { AccountSettings } from '../account/settings';
import type { Http } from '../http/http';
import { asPrintingError } from '../service/errors';
import type { Credentials } from '../sign-in/credentials';
import type { Clock } from '../time/clock';
import { type Deadline, underDeadline } from '../time/deadline';
import { readClusters } from '../watch/polling/cluster-list';
import { phrase, type Sentence } from '../words/sentence';
import { asker, type Check, checksWithoutSecrets, failed, notChecked } from './check';
import { checkDescriptions, checkPath, READING } from './paths-check';
import { checkClock, checkHost, checkUser } from './user-checks';

export interface Connection {
  settings: AccountSettings;
  credentials: Credentials;
  http: Http;
  clock: Clock;
  /** Reason not to send the sign-in to these hosts; null if there is none. */
  withheld?: Sentence | null;
}

/** Timeout of the whole test, ms. */
const LONGEST = 30_000;
/** Timeout of the list of printers, with its retries, ms. */
const LIST = 15_000;
const MOST_NAMES = 5;

/** Tests an account, one line per check (reference 5). Only reads, and never throws. */
export async function testConnection(connection: Connection): Promise<Check[]> {
  const { settings, credentials, clock } = connection;
  const { signIn } = settings;
  const secrets = ['apiToken' in signIn ? signIn.apiToken : signIn.clientSecret];
  const giveBearer: Credentials['bearer'] = async (deadline) => {
    const bearer = await credentials.bearer(deadline);
    secrets.push(bearer);
    return bearer;
  };
  const checks = await underDeadline(clock, { ms: LONGEST, cure: phrase`try again` }, (deadline) =>
    run(connection, giveBearer, deadline),
  );
  return checksWithoutSecrets(checks, secrets);
}

async function run(connection: Connection, giveBearer: Credentials['bearer'], deadline: Deadline): Promise<Check[]> {
  const { settings, credentials, http, withheld } = connection;
  const ask = asker(settings, http);
  const [api, account] = await Promise.all([
    checkHost('api', settings.apiUrl, ask, deadline),
    settings.authUrl ? checkHost('auth', settings.authUrl, ask, deadline) : null,
  ]);
  const first = [
    api.check,
    account?.check ?? notChecked('accountHost', phrase`none is set, and an API token does not need one`),
    checkClock(api.answer ?? account?.answer),
  ];
  const end = (why: Sentence, ...done: Check[]) => [...first, ...completed(done, why)];
  if (!api.answer) return end(phrase`the API host was not reached`);
  if (withheld) return end(phrase`the sign-in was not sent`, { name: 'token', ok: false, detail: withheld });

  const listed = await checkList(connection, giveBearer, deadline);
  if (!listed.isAccepted) return end(phrase`the sign-in was not accepted`, ...listed.checks);
  let bearer: string;
  try {
    bearer = await giveBearer(deadline);
  } catch (thrown) {
    return end(phrase`the sign-in has ended in the meantime`, failed('token', thrown));
  }
  const askSignedIn = asker(settings, http, bearer);
  const [user, reads, descriptions] = await Promise.all([
    checkUser(askSignedIn, settings, credentials.info().organizationId, deadline),
    Promise.all(READING.map((name) => checkPath(name, askSignedIn, settings.paths, listed.clusterId, deadline))),
    checkDescriptions(askSignedIn, settings, deadline),
  ]);
  return [...first, ...completed([...listed.checks, ...user, ...reads], phrase`it was not asked for`), ...descriptions];
}

interface Listed {
  /** `token` and `clusters`, or the one that failed. */
  checks: Check[];
  /** Whether the service accepted the token. */
  isAccepted: boolean;
  /** A cluster for further checks: an online one, if there is any. */
  clusterId: string | null;
}

/** Reads the list of printers, which every token may read, so it shows whether this one is valid. */
async function checkList(
  { settings, credentials, http, clock }: Connection,
  giveBearer: Credentials['bearer'],
  deadline: Deadline,
): Promise<Listed> {
  const limit = deadline.within(LIST, { cure: phrase`try again` });
  try {
    // A failure to get a bearer is a failure of the token, not of the list.
    await giveBearer(limit);
  } catch (thrown) {
    limit.end();
    return { checks: [failed('token', thrown)], isAccepted: false, clusterId: null };
  }
  try {
    const service = new AuthenticatedApiClient({ settings, http, clock, credentials });
    const found = await readClusters(service, limit);
    const clusterId = (found.find(({ online }) => online) ?? found[0])?.clusterId ?? null;
    const names = found.map(({ name, model }) => name ?? model ?? '?');
    return { checks: [ACCEPTED, { name: 'clusters', ok: true, detail: counted(names) }], isAccepted: true, clusterId };
  } catch (thrown) {
    const error = asPrintingError(thrown);
    if (error.code === 'NOT_SIGNED_IN') return { checks: [failed('token', error)], isAccepted: false, clusterId: null };
    const clusters = failed('clusters', error);
    // A refusal for another reason proves that the token is valid.
    if (error.code === 'FORBIDDEN') return { checks: [ACCEPTED, clusters], isAccepted: true, clusterId: null };
    return { checks: [clusters], isAccepted: false, clusterId: null };
  } finally {
    limit.end();
  }
}

const ACCEPTED: Check = { name: 'token', ok: true, detail: phrase`The service accepts the sign-in.` };

/** Names of the checks that need a token, in the order of the lines. */
const NEED_TOKEN = [
  ...['token', 'user', 'workspace', 'clusters', 'path.currentUser'],
  ...READING.map((name) => `path.${name}`),
];

/** Completes the lines that need a token; missing ones were not checked. */
const completed = (done: Check[], why: Sentence): Check[] =>
  NEED_TOKEN.map((name) => done.find((check) => check.name === name) ?? notChecked(name, why));

function counted(names: string[]): Sentence {
  if (names.length === 0) return phrase`The workspace has no printers.`;
  const more = names.length - MOST_NAMES;
  const first = names.slice(0, MOST_NAMES).join(', ');
  const shown = more > 0 ? phrase`${first} and ${more} more` : first;
  return names.length === 1 ? phrase`1 printer found: ${shown}.` : phrase`${names.length} printers found: ${shown}.`;
}
