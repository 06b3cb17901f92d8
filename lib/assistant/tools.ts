import type { Argument, InputSchema } from './schema';

/** Permission of an assistant. */
export type Allow = 'look' | 'ask' | 'act';

/** A tool as it is listed, and when. */
export interface Tool {
  name: string;
  title: string;
  description: string;
  acts: boolean;
  /** Whether it is about a print queue. */
  queue: boolean;
  /** Whether it ends or spoils something. */
  destructive: boolean;
  input: InputSchema;
  output: Readonly<Record<string, object>>;
}

const id = (description: string): Argument => ({ type: 'string', minLength: 1, maxLength: 200, description });
const count = (minimum: number, maximum: number, description: string): Argument => ({
  ...{ type: 'integer', minimum, maximum, description },
});
const flag = (description: string): Argument => ({ type: 'boolean', description });

const ARGUMENTS = {
  clusterId: id('The printer, or the group of printers that share one queue: clusterId of list_printers.'),
  printerId: id('One printer of a group: printerId of list_printers. Leave it out for a printer that is alone.'),
  jobId: id('A stored print file: jobId of list_files.'),
  clusterJobId: id('One print on a printer: clusterJobId of list_jobs or list_printers.'),
  itemId: id('An item of the print queue: itemId of list_queue.'),
  copy: count(1, 10_000, 'The copy of the item, from its list of prints in explain_item.'),
  attempt: count(1, 10_000, 'The attempt to print that copy, from the same list.'),
  judges: id('The print that ended on a plate: judges of list_printers.'),
  copies: count(1, 10_000, 'How often to print the file. Default: 1.'),
  position: count(1, 100_000, 'The new place in the queue; 1 is the first.'),
  good: flag('Whether the print came out well.'),
  goodParts: count(0, 10_000, 'How many parts of a print with several came out well.'),
  handle: { type: 'string', minLength: 1, maxLength: 100, description: 'The handle that a tool answered with.' },
  key: {
    ...{ type: 'string', minLength: 1, maxLength: 200 },
    description:
      'A new text of your own for each thing to do. The same key acts once: repeat a call with the same key.',
  },
  dryRun: flag('True: only tell what would happen and what it costs.'),
} as const satisfies Record<string, Argument>;
type Name = keyof typeof ARGUMENTS;

function inputOf(required: readonly Name[], optional: readonly Name[] = []): InputSchema {
  const properties = Object.fromEntries([...required, ...optional].map((name) => [name, ARGUMENTS[name]]));
  return { type: 'object', properties, required, additionalProperties: false };
}

const TEXT = { type: ['string', 'null'] };
const NUMBER = { type: ['number', 'null'] };
const FLAG = { type: ['boolean', 'null'] };
const listOf = (properties: Readonly<Record<string, object>>) => ({
  type: 'array',
  items: { type: 'object', properties },
});
/** Members of the output of every tool. */
const ALWAYS = { code: TEXT, message: TEXT, retriable: FLAG, next: { type: 'array', items: { type: 'string' } } };
const RESULT = {
  ...{
    state: { type: 'string' },
    handle: TEXT,
    repeated: FLAG,
    dryRun: FLAG,
    sentence: TEXT,
    estimate: { type: ['object', 'null'] },
  },
  ...{ jobId: TEXT, clusterId: TEXT, clusterJobId: TEXT, itemId: TEXT, name: TEXT },
};

const look = (
  name: string,
  title: string,
  description: string,
  { input = inputOf([]), output, queue = false }: { input?: InputSchema; output: Tool['output']; queue?: boolean },
): Tool => ({ name, title, description, acts: false, queue, destructive: false, input, output });

const act = (
  name: string,
  title: string,
  description: string,
  {
    required,
    optional = [],
    queue = false,
    destructive = false,
  }: { required: Name[]; optional?: Name[]; queue?: boolean; destructive?: boolean },
): Tool => ({
  ...{ name, title, acts: true, queue, destructive, output: RESULT },
  description: `${description} Needs a key; may wait for the OK of a person: then read_request tells the rest.`,
  input: inputOf([...required, 'key'], [...optional, 'dryRun']),
});

const MATERIALS = listOf({ brand: TEXT, name: TEXT, color: TEXT, extruder: NUMBER, slot: NUMBER, percentLeft: NUMBER });
const JOB = { clusterJobId: TEXT, jobId: TEXT, name: TEXT, state: TEXT, percent: NUMBER, secondsLeft: NUMBER };

/** All tools, in the order of the list. */
export const TOOLS: readonly Tool[] = [
  look(
    'list_printers',
    'List printers',
    'Lists the 3D printers: whether each is online, what it prints, which plastic is loaded, and what is wrong with it. ' +
      'With a print queue it also says whose finished print still lies on the plate (judges).',
    {
      input: inputOf([], ['clusterId']),
      output: {
        printers: listOf({
          ...{ clusterId: TEXT, printerId: TEXT, name: TEXT, model: TEXT, online: FLAG, status: TEXT, idle: FLAG },
          ...{ job: { type: ['object', 'null'], properties: JOB }, materials: MATERIALS },
          problems: { type: 'array', items: { type: 'string' } },
          plates: listOf({ printerId: TEXT, name: TEXT, plate: TEXT, judges: TEXT, waitsFor: TEXT }),
        }),
        left: NUMBER,
      },
    },
  ),
  look(
    'list_jobs',
    'List prints',
    'Lists the prints that wait, run or have ended, the newest first; with clusterId those of one printer.',
    {
      input: inputOf([], ['clusterId']),
      output: { jobs: listOf({ ...JOB, clusterId: TEXT, createdAt: TEXT }), left: NUMBER },
    },
  ),
  look(
    'printer_picture',
    'Picture of a printer',
    'Takes a picture with the camera of a printer. It takes some seconds.',
    {
      input: inputOf(['clusterId'], ['printerId']),
      output: { clusterId: TEXT, printerId: TEXT, takenAt: TEXT, contentType: TEXT },
    },
  ),
  look('list_files', 'List print files', 'Lists the stored files that can be printed, the newest first.', {
    output: { files: listOf({ jobId: TEXT, name: TEXT, bytes: NUMBER, uploadedAt: TEXT }), left: NUMBER },
  }),
  look('list_materials', 'List materials', 'Lists the plastics that are loaded, and in which printers.', {
    output: {
      materials: listOf({
        brand: TEXT,
        name: TEXT,
        color: TEXT,
        cubicMillimetresLeft: NUMBER,
        printers: { type: 'array' },
      }),
      left: NUMBER,
    },
  }),
  look('read_request', 'Read a request', 'Tells what has become of a request to act, by its handle.', {
    input: inputOf(['handle']),
    output: { ...RESULT, tool: TEXT },
  }),
  look('list_queue', 'List the print queue', 'Lists what waits and prints in the print queue, in its order.', {
    queue: true,
    output: {
      items: listOf({
        ...{ itemId: TEXT, name: TEXT, state: TEXT, position: NUMBER, copies: { type: ['object', 'null'] } },
        ...{ startAt: TEXT, endAt: TEXT, waitsFor: { type: 'array', items: { type: 'string' } } },
      }),
      left: NUMBER,
    },
  }),
  look(
    'explain_item',
    'Why does an item wait',
    'Explains why an item of the print queue waits, for each printer, and lists its prints.',
    {
      queue: true,
      input: inputOf(['itemId']),
      output: { item: { type: 'object' } },
    },
  ),
  look(
    'queue_forecast',
    'Forecast of the queue',
    'Tells when each item of the print queue will print, when the queue ends, and which plastic will run out.',
    {
      queue: true,
      output: { forecast: { type: 'object' }, left: NUMBER },
    },
  ),
  act(
    'print_stored_job',
    'Print a file',
    'Prints a stored file on a printer. It starts a machine and uses up plastic.',
    {
      required: ['clusterId', 'jobId'],
    },
  ),
  act('pause_print', 'Pause a print', 'Pauses a print.', { required: ['clusterId', 'clusterJobId'] }),
  act('resume_print', 'Resume a print', 'Resumes a paused print.', { required: ['clusterId', 'clusterJobId'] }),
  act('abort_print', 'Abort a print', 'Ends a print for good: the part is lost.', {
    required: ['clusterId', 'clusterJobId'],
    destructive: true,
  }),
  act('add_to_queue', 'Add to the queue', 'Adds a stored file to the print queue, which chooses the printer.', {
    ...{ queue: true, required: ['jobId'], optional: ['copies'] },
  }),
  act(
    'plate_cleared',
    'The plate is clear',
    'Says that a person has taken the finished print off a printer, and whether it came out well. The next print starts then. ' +
      'Name the print by judges, or by itemId, copy and attempt.',
    {
      ...{ queue: true, destructive: true, required: ['clusterId', 'good'] },
      optional: ['printerId', 'goodParts', 'judges', 'itemId', 'copy', 'attempt'],
    },
  ),
  act('hold_item', 'Hold an item', 'Keeps an item of the print queue from being printed.', {
    queue: true,
    required: ['itemId'],
  }),
  act('release_item', 'Release an item', 'Lets a held item be printed.', { queue: true, required: ['itemId'] }),
  act('move_item', 'Move an item', 'Moves an item to another place in the print queue.', {
    ...{ queue: true, required: ['itemId', 'position'] },
  }),
];

/** The entry of a tool in `tools/list`. */
export const listed = ({ name, title, description, acts, destructive, input, output }: Tool): object => ({
  ...{ name, title, description, inputSchema: input },
  // Nothing is required, since an error lacks all but its code and message.
  outputSchema: { type: 'object', properties: { ...ALWAYS, ...output } },
  annotations: {
    ...{ title, readOnlyHint: !acts, destructiveHint: destructive, idempotentHint: true },
    openWorldHint: false,
  },
});
