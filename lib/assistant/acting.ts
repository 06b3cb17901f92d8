import { costOf, type Prices, roundedCost } from '../queue/model/rules';
import {
  type ItemTarget,
  type PlateJudgement,
  printerKey,
  type PrinterTarget,
  type QueueItem,
} from '../queue/model/types';
import { PrintingError } from '../service/errors';
import { record } from '../service/json-readers';
import type { PrintJob } from '../service/print-job';
import type { StoredFile } from '../service/stored-file';
import type { Deadline } from '../time/deadline';
import { factsOfMetadata } from '../toolpath/read-facts';
import type { PrintResult } from '../print/print-request';
import { phrase, type Sentence } from '../words/sentence';
import { needQueue, type Workshop } from './looking';
import type { Arguments } from './schema';

/** Objects on which a tool acts, and the prices. */
export interface ActingWorkshop extends Workshop {
  prices: Prices | null;
  /** Name of a printer by the account's list. */
  nameOf: (clusterId: string, deadline: Deadline) => Promise<string>;
}

/** Consequences of a request, for a person and for a dry run. */
export interface Preview {
  sentence: Sentence;
  /** Its cost. Null: none. */
  estimate: Estimate | null;
}

interface Estimate {
  seconds: number | null;
  /** g, by extruder. */
  grams: readonly (number | null)[];
  /** In the queue's currency; null without prices. */
  cost: number | null;
  currency: string | null;
}

interface Act {
  /** Throws if it can't be done. Changes nothing. `isDry`: nothing follows. */
  preview: (workshop: ActingWorkshop, given: Arguments, deadline: Deadline, isDry: boolean) => Promise<Preview>;
  /** Does it. `key` makes a repeat harmless, where the tool `repeats`. */
  run: (workshop: ActingWorkshop, given: Arguments, key: string, deadline: Deadline) => Promise<object>;
  /** Whether running it again with the same key finds what was done before, and does nothing twice. */
  repeats: boolean;
  /** Looks whether it is done, where it does not repeat. */
  isDone: (workshop: ActingWorkshop, given: Arguments, deadline: Deadline) => Promise<boolean>;
}

const word = (given: Arguments, name: string): string => String(given[name] ?? '');
const repeating = { repeats: true, isDone: () => Promise.resolve(false) };

/** An action on a print, which names it, so that a late one never meets the next. */
const onPrint = (
  action: string,
  ended: readonly string[],
  sentence: (name: string, printer: string) => Sentence,
): Act => ({
  preview: async (workshop, given, deadline) => {
    const job = await printOf(workshop, given, deadline);
    const printer = await workshop.nameOf(word(given, 'clusterId'), deadline);
    return { sentence: sentence(job.name ?? word(given, 'clusterJobId'), printer), estimate: null };
  },
  run: async ({ client }, given, _key, deadline) => {
    const [clusterId, clusterJobId] = [word(given, 'clusterId'), word(given, 'clusterJobId')];
    await client.jobControl.run({ action, data: {}, clusterId, clusterJobId, deadline, onStage: () => undefined });
    return { clusterId, clusterJobId };
  },
  repeats: false,
  isDone: async (workshop, given, deadline) => ended.includes((await printOf(workshop, given, deadline)).state),
});

type ShownItem = Pick<QueueItem, 'name' | 'itemId' | 'held' | 'position' | 'endedAt'>;

/** A change of an item. */
const onItem = (
  change: (workshop: ActingWorkshop, target: ItemTarget, given: Arguments, deadline: Deadline) => Promise<unknown>,
  isDone: (item: ShownItem, given: Arguments) => boolean,
  sentence: (name: string, given: Arguments) => Sentence,
): Act => ({
  preview: async (workshop, given, deadline) => {
    const { name, itemId } = await openItemOf(workshop, given, deadline);
    return { sentence: sentence(name ?? itemId, given), estimate: null };
  },
  run: async (workshop, given, _key, deadline) => {
    const { itemId } = await openItemOf(workshop, given, deadline);
    await change(workshop, { itemId }, given, deadline);
    return { itemId };
  },
  repeats: false,
  isDone: async (workshop, given, deadline) => isDone(await itemOf(workshop, given, deadline), given),
});

/** Work of each tool that acts. */
export const ACTS: Readonly<Record<string, Act>> = {
  print_stored_job: {
    ...repeating,
    preview: async (workshop, given, deadline) => {
      const { name, estimate } = await fileOf(workshop, given, deadline);
      await print(workshop, given, '', deadline, true);
      const printer = await workshop.nameOf(word(given, 'clusterId'), deadline);
      return { sentence: phrase`Print ${name} on ${printer}.`, estimate };
    },
    run: (workshop, given, key, deadline) => print(workshop, given, key, deadline, false),
  },
  pause_print: onPrint(
    'pause',
    ['paused', 'pausing'],
    (name, printer) => phrase`Pause the print ${name} on ${printer}.`,
  ),
  resume_print: onPrint(
    'resume',
    ['printing', 'resuming'],
    (name, printer) => phrase`Resume the print ${name} on ${printer}.`,
  ),
  abort_print: onPrint(
    'abort',
    ['aborted', 'aborting'],
    (name, printer) => phrase`Abort the print ${name} on ${printer}: the part is lost.`,
  ),
  add_to_queue: {
    ...repeating,
    preview: async (workshop, given, deadline) => {
      needQueue(workshop.queue);
      const { name, estimate } = await fileOf(workshop, given, deadline);
      const copies = Number(given.copies ?? 1);
      return {
        sentence: phrase`Add ${name} to the print queue, copies: ${copies}.`,
        estimate: times(estimate, copies),
      };
    },
    run: async ({ queue }, given, key, deadline) => {
      const adding = {
        source: null,
        jobId: word(given, 'jobId'),
        jobName: '',
        queueKey: key,
        copies: Number(given.copies ?? 1),
      };
      const { item } = await needQueue(queue).add({ ...adding, deadline, onProgress: () => undefined });
      return { itemId: item.itemId, name: item.name, jobId: item.jobId };
    },
  },
  plate_cleared: {
    ...repeating,
    preview: async (workshop, given, deadline, isDry) => {
      const queue = needQueue(workshop.queue);
      const place = placeOf(given);
      const trial = { ...judgementOf(given), isTrial: true };
      const { printers } = await deadline.wait(
        isDry ? queue.plateCleared(place, given.good === true, deadline, trial) : queue.explainQueue(),
      );
      const member =
        place.printerId === null ? undefined : printers.find((one) => printerKey(one) === printerKey(place));
      const printer = member?.printerName ?? (await workshop.nameOf(place.clusterId, deadline));
      if (given.good && given.goodParts !== undefined) {
        const parts = Number(given.goodParts);
        const sentence = phrase`Say that the plate of ${printer} is clear, good parts of its last print: ${parts}. The next print starts.`;
        return { sentence, estimate: null };
      }
      const sentence = given.good
        ? phrase`Say that the plate of ${printer} is clear and that its last print is good: the next print starts.`
        : phrase`Say that the plate of ${printer} is clear and that its last print is bad: the next print starts.`;
      return { sentence, estimate: null };
    },
    run: async ({ queue }, given, _key, deadline) => {
      const printer = placeOf(given);
      await needQueue(queue).plateCleared(printer, given.good === true, deadline, judgementOf(given));
      return printer;
    },
  },
  hold_item: onItem(
    ({ queue }, target, _given, deadline) => needQueue(queue).hold(target, deadline),
    ({ held }) => held,
    (name) => phrase`Hold ${name} in the print queue.`,
  ),
  release_item: onItem(
    ({ queue }, target, _given, deadline) => needQueue(queue).release(target, deadline),
    ({ held }) => !held,
    (name) => phrase`Release ${name} in the print queue, so that it is printed.`,
  ),
  move_item: onItem(
    ({ queue }, target, given, deadline) =>
      needQueue(queue).move(target, { position: Number(given.position) }, deadline),
    ({ position }, given) => position === given.position,
    (name, given) => phrase`Move ${name} to place ${Number(given.position)} of the print queue.`,
  ),
};

async function print(
  { client }: Workshop,
  given: Arguments,
  printKey: string,
  deadline: Deadline,
  dryRun: boolean,
): Promise<object> {
  const [clusterId, jobId] = [word(given, 'clusterId'), word(given, 'jobId')];
  let result: PrintResult | undefined;
  await client.prints.run({
    ...{ source: () => Promise.resolve({ kind: 'stored' as const, jobId }), clusterIds: [clusterId], jobName: '' },
    ...{
      printKey,
      sendOnce: true,
      print: true,
      startNow: true,
      waitFor: 'dispatched',
      compress: false,
      reuseUpload: true,
      dryRun,
    },
    ...{ deadline, signal: deadline.signal, onProgress: () => undefined, onResult: (one) => (result = one) },
  });
  return {
    clusterId,
    jobId: result?.jobId ?? jobId,
    clusterJobId: result?.clusterJobId ?? null,
    name: result?.jobName ?? null,
  };
}

async function printOf({ client }: Workshop, given: Arguments, deadline: Deadline): Promise<PrintJob> {
  const named = { clusterId: word(given, 'clusterId'), clusterJobId: word(given, 'clusterJobId') };
  const { payload } = await client.queries.ask({ query: 'print-job', ...named }, { deadline });
  return payload as PrintJob;
}

async function itemOf({ queue }: Workshop, given: Arguments, deadline: Deadline): Promise<ShownItem> {
  const [item] = await deadline.wait(needQueue(queue).explain({ itemId: word(given, 'itemId') }));
  if (!item) throw new PrintingError('QUEUE_ITEM_NOT_FOUND', phrase`The queue has no such item.`);
  return item;
}

/** The same; throws NOT_ACCEPTED if it has ended, as nothing of it can be held, moved or released. */
async function openItemOf(workshop: Workshop, given: Arguments, deadline: Deadline): Promise<ShownItem> {
  const item = await itemOf(workshop, given, deadline);
  if (item.endedAt === null) return item;
  throw new PrintingError(
    'NOT_ACCEPTED',
    phrase`The item has ended, so nothing of it waits: add it anew to print it again.`,
  );
}

const placeOf = (given: Arguments): PrinterTarget => ({
  clusterId: word(given, 'clusterId'),
  printerId: word(given, 'printerId') || null,
});

/** A stored file, and what one print of it takes. */
async function fileOf(
  { client, prices }: ActingWorkshop,
  given: Arguments,
  deadline: Deadline,
): Promise<{ name: string; estimate: Estimate }> {
  const jobId = word(given, 'jobId');
  const { payload, raw } = await client.queries.ask({ query: 'stored-job', id: jobId }, { deadline });
  const { name, status } = payload as StoredFile;
  if (status !== 'uploaded')
    throw new PrintingError('NOT_FOUND', phrase`The file is not stored, or not uploaded to its end.`);
  const { seconds = null, weights = [], materials = [] } = factsOfMetadata(record(raw)?.metadata) ?? {};
  const cost = prices && costOf(prices, { seconds, materials, weights });
  return { name: name ?? jobId, estimate: { seconds, grams: weights, cost, currency: prices?.currency ?? null } };
}

/** Time, material and money for several prints. */
function times({ seconds, grams, cost, currency }: Estimate, prints: number): Estimate {
  const all = (amount: number | null) => (amount === null ? null : roundedCost(amount * prints));
  return { seconds: all(seconds), grams: grams.map(all), cost: all(cost), currency };
}

/** A verdict names its print, since an OK may come when another plate lies there. Throws INVALID_INPUT. */
function judgementOf({ itemId, copy, attempt, judges, goodParts }: Arguments): PlateJudgement {
  const isWhole = itemId !== undefined && copy !== undefined && attempt !== undefined;
  if (!isWhole && judges === undefined)
    throw new PrintingError(
      'INVALID_INPUT',
      phrase`Name the print: by judges of list_printers, or by itemId, copy and attempt.`,
    );
  return {
    goodParts: goodParts === undefined ? undefined : Number(goodParts),
    print: isWhole ? { itemId: String(itemId), copy: Number(copy), attempt: Number(attempt) } : undefined,
    judges: judges === undefined ? undefined : String(judges),
  };
}
