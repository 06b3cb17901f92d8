import { SCHEMA } from '../../../lib/postgres/schema';
import type { Evidence } from './evidence';
import type { Farm } from './farm';

/** Kinds of the stored values that decide which events come, and which prints are found. */
const KINDS = ['checkpoint', 'queue-item', 'queue-past', 'queue-telling', 'queue-state', 'queue-plate', 'print-key'];
/** Most characters of the beginning and of the end of a stored value, and most lines of the logs. */
const CHARACTERS = 2_000;
const LINES = 100;
/** Shortest word of a breach that names something stored. */
const SHORTEST = 4;
/** Time around a print in which its polls are named, ms. */
const AROUND = 60_000;

/**
 * Traces of breaches in the evidence, the database and the logs: a breach that the same seed does not repeat must explain
 * itself.
 * @param log the lines of the replicas since the round began
 */
export async function tracesOf(
  farm: Pick<Farm, 'sql'>,
  seen: Evidence,
  breaches: readonly string[],
  log: readonly string[],
): Promise<string[]> {
  const named = breaches.flatMap((sentence) => sentence.split(/[\s/:,()]+/));
  const words = new Set(named.filter((word) => word.length >= SHORTEST));
  const printings = seen.printings.filter(({ uuid, name }) => words.has(uuid) || words.has(name));
  for (const { items } of seen.queues.lists)
    for (const { itemId, queueKey } of items ?? []) if (words.has(queueKey ?? '')) words.add(itemId);
  for (const { clusterId } of printings) words.add(clusterId);
  const after = (time: number) => `${((time - seen.since) / 1000).toFixed(1)} s`;
  return [
    ...printings.map(({ uuid, name, clusterId, createdAt, listedAt }) => {
      const polls = (seen.polls.get(clusterId) ?? []).filter(
        ({ at }) => at > createdAt - AROUND && at < listedAt + AROUND && at < createdAt + 2 * AROUND,
      );
      const told = seen.told.filter(({ job }) => job === uuid);
      return [
        `print ${uuid} of ${name} on ${clusterId}: sent at ${after(createdAt)}, listed until ${after(listedAt)}`,
        `polled ${polls.map(({ at, by }) => `at ${after(at)} by ${by}`).join(', ')}`,
        `told ${told.map(({ type, node, replica, at }) => `${type ?? ''} to ${node} of ${replica} at ${after(at)}`).join(', ')}`,
      ].join('; ');
    }),
    ...seen.asked
      .filter(({ key }) => words.has(key))
      .map(({ kind, key, replica, at, answeredAt, job, failed }) => {
        const answer =
          answeredAt === null ? 'no answer' : `answered at ${after(answeredAt)}: ${job ?? failed ?? 'begun'}`;
        return `${kind} ${key}: asked of replica ${replica} at ${after(at)}, ${answer}`;
      }),
    ...(await storedOf(farm, words).catch(unanswered)),
    ...(await holdersOf(farm).catch(unanswered)),
    ...log.slice(-LINES),
  ];
}

const unanswered = (error: unknown): string[] => [`the database did not answer: ${String(error)}`];

/** Stored values whose keys contain one of the words; a plate is named by its printer. */
async function storedOf(farm: Pick<Farm, 'sql'>, words: ReadonlySet<string>): Promise<string[]> {
  const rows = await farm.sql<{ key: string; content: string; holder: string | null }>(
    `SELECT key, content, holder FROM ${SCHEMA}.entries WHERE kind = ANY ($1) AND content IS NOT NULL ORDER BY key`,
    [KINDS],
  );
  return rows
    .filter(({ key, content }) =>
      [...(JSON.parse(key) as string[]), clusterOf(content)].some((word) => words.has(word)),
    )
    .map(({ content, holder }) => `stored${holder === null ? '' : `, locked by ${holder}`}: ${shortened(content)}`);
}

const clusterOf = (content: string): string =>
  (JSON.parse(content) as { value?: { clusterId?: string } }).value?.clusterId ?? '';

const shortened = (content: string): string =>
  content.length <= 2 * CHARACTERS ? content : `${content.slice(0, CHARACTERS)} … ${content.slice(-CHARACTERS)}`;

/** Items of shared work, by the lease of their holder. */
async function holdersOf(farm: Pick<Farm, 'sql'>): Promise<string[]> {
  const rows = await farm.sql<{ token: string | null; holder: string | null; items: string }>(
    `SELECT a.holder AS token, e.holder, string_agg(a.item, ' ' ORDER BY a.item) AS items FROM ${SCHEMA}.assignments AS a
      LEFT JOIN ${SCHEMA}.entries AS e ON e.kind = 'member' AND e.token = a.holder GROUP BY a.topic, a.holder, e.holder`,
  );
  return rows.map(({ token, holder, items }) => `lease ${token} of ${holder} holds ${items}`);
}
