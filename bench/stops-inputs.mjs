// @ts-nocheck The built library has no types.
// Hostile inputs of the size of a limit, or beyond it: what the service answers, and what the pack is asked to do then.

const list = (count, entry) => Array.from({ length: count }, (_, nth) => entry(nth));
const paged = (request, pages, data) => {
  const page = Number(new URL(request.url, 'http://x').searchParams.get('page') ?? 1);
  return { data: data(page), meta: { page: { total_pages: pages } } };
};
/** Objects whose names differ from each other: V8 needs most memory and time for them. */
const differing = (nth, count) => Object.fromEntries(list(count, (at) => [`n${nth}x${at}`, at]));

const material = (nth) => ({
  guid: `g${nth}`,
  brand: 'b '.repeat(240),
  material: 'm '.repeat(240),
  color: 'c '.repeat(240),
});
const printer = (nth) => ({
  cluster_id: `cluster-${nth}`,
  friendly_name: `Printer ${nth}`,
  host_guid: `host-${nth}`,
  printer_type: 'brand_model_x',
  is_online: true,
  status: 'active',
  capabilities: list(30, (at) => `capability_${at}`),
  note: { note: 'first floor #pla' },
  host_printer: {
    uuid: `printer-${nth}`,
    status: 'printing',
    configuration: list(2, (at) => ({
      extruder_index: at,
      print_core_id: 'AA 0.4',
      material: { guid: 'g', brand: 'Generic', material: 'PLA', color: 'Red' },
    })),
  },
  host_current_print_job: job(nth),
});
const job = (nth, cluster = `cluster-${nth}`) => ({
  uuid: `job-${nth}`,
  cluster_id: cluster,
  name: `part ${nth}`,
  status: 'printing',
  state: 'in_progress',
  time_elapsed: nth % 5000,
  time_total: 7200,
  created_at: '2026-01-01T00:00:00.000Z',
  owner: 'somebody',
});
const bigStatus = (bytes) => {
  const one = (nth) => ({
    ...job(nth, 'c'),
    impediments_to_printing: list(20, (at) => ({ error_code: `code ${at}` })),
  });
  const jobs = list(Math.min(1000, Math.floor(bytes / 1100)), one);
  const data = { is_online: true, generated_time: '2026-01-01T00:00:00.000Z', printers: [], print_jobs: jobs };
  const rest = bytes - JSON.stringify({ data }).length - 20;
  return { data: { ...data, pad: 'x'.repeat(Math.max(0, rest)) } };
};
const status = (count, other = 0) => ({
  data: {
    is_online: true,
    printers: [{ uuid: 'p', status: 'idle' }],
    print_jobs: list(count, (nth) => ({ ...job(nth + other, 'c'), status: 'queued', state: 'waiting' })),
    recently_completed: [],
  },
});
const words = (nth) => `${nth} ${'a b c d e f g h i j '.repeat(24)}`.slice(0, 500);
/** Paths of many words that end like a known call. */
const description = (request, count, length) => {
  if (!request.url.includes('/spec')) return { data: [] };
  const path = (nth) =>
    `/connect/v1/clusters/${list(length / 4, (at) => `${at.toString(36)}${(nth % 30).toString(36)}`)
      .join('_')
      .slice(0, length - 40)}/${nth}/print_jobs`;
  const calls = { get: {}, put: {}, post: {}, delete: {} };
  return { paths: Object.fromEntries(list(count, (nth) => [path(nth), calls])) };
};

/** The list and the statuses of 10,000 printers. */
const farm = (request) => {
  const [, id] = /\/clusters\/cluster-(\d+)\/status/.exec(request.url) ?? [];
  if (id === undefined) return paged(request, 40, (page) => list(250, (nth) => printer((page - 1) * 250 + nth)));
  const { host_printer: one } = printer(id);
  return { data: { is_online: true, printers: [one], print_jobs: [{ ...job(id), printer_uuid: one.uuid }] } };
};

const ask = (query) => (client, deadline) => client.queries.ask(query(client), { deadline });
const watch = (clusterId, polls) => async (client, deadline) => {
  const watched = client.watcher.watch({
    clusterId,
    audience: 'a',
    interval: 10,
    paused: true,
    milestones: [],
    onRound: () => undefined,
    onEvents: () => undefined,
    onTrouble: () => undefined,
  });
  for (let poll = 0; poll < polls; poll++) await deadline.wait(watched.ask(() => undefined));
  watched.close();
};
const anyFilter = { status: [], sentFrom: [], clusterIds: [], search: '', privateOnly: false };

/** Each: a name, the answer to a request, and the work of a client. */
export const INPUTS = [
  {
    name: 'description of the service, 1.1 MB',
    answer: (request) => description(request, 650, 1_700),
    work: (client) => client.testConnection(),
  },
  {
    name: 'description of the service, 5,000 paths of 300 characters',
    answer: (request) => description(request, 5_000, 300),
    work: (client) => client.testConnection(),
  },
  {
    name: 'description of the service, 8 MB',
    answer: (request) => description(request, 4_500, 1_700),
    work: (client) => client.testConnection(),
  },
  {
    name: '240,000 bare printers in one answer',
    answer: () => ({ data: list(240_000, (nth) => ({ cluster_id: `${nth}` })) }),
    work: ask(() => ({ query: 'clusters' })),
  },
  {
    name: '50,000 bare printers in ten pages, queried',
    answer: (request) => paged(request, 10, (page) => list(5000, (nth) => ({ cluster_id: `${page}-${nth}` }))),
    work: ask(() => ({ query: 'clusters' })),
  },
  ...[2, 4, 10].map((pages) => ({
    name: `${pages * 5},000 bare printers, watched`,
    answer: (request) =>
      request.url.includes('/status')
        ? status(0)
        : paged(request, pages, (page) => list(5000, (nth) => ({ cluster_id: `${page}-${nth}` }))),
    work: async (client, deadline) => {
      const watched = client.watcher.watch({
        clusterId: null,
        audience: 'a',
        interval: 60,
        milestones: [],
        onRound: () => undefined,
        onEvents: () => undefined,
        onTrouble: () => undefined,
      });
      await new Promise((resolve) => setTimeout(resolve, 5000));
      deadline.throwIfOver();
      watched.close();
    },
  })),
  {
    name: '10,000 printers on a board',
    answer: farm,
    work: async (client, deadline) => {
      const { page, close } = client.openBoard();
      await new Promise((resolve) => setTimeout(resolve, 15_000));
      deadline.throwIfOver();
      await close();
      if (page.written < 1_000_000) throw new Error(`only ${page.written} characters on the page`);
    },
  },
  {
    name: '10,000 printers in a queue with a board',
    answer: farm,
    work: async (client, deadline) => {
      const queue = client.openQueue();
      const { page, close } = client.openBoard(queue);
      await new Promise((resolve) => setTimeout(resolve, 20_000));
      deadline.throwIfOver();
      await close();
      await queue.close();
      if (page.written < 1_000_000) throw new Error(`only ${page.written} characters on the page`);
    },
  },
  {
    name: '10,000 printers in Home Assistant',
    answer: farm,
    work: async (client) => {
      const published = await client.publish(15_000);
      if (published < 1_000) throw new Error(`only ${published} messages`);
    },
  },
  {
    name: '10,000 printers in 40 pages, queried',
    answer: (request) => paged(request, 40, (page) => list(250, (nth) => printer(page * 250 + nth))),
    work: ask(() => ({ query: 'clusters' })),
  },
  {
    name: '10,000 printers, filter of ten long materials',
    answer: (request) => paged(request, 40, (page) => list(250, (nth) => printer(page * 250 + nth))),
    work: ask(({ readPrinterFilter }) => ({
      query: 'printers',
      printers: readPrinterFilter({ material: list(10, words) }),
    })),
  },
  {
    name: '10,000 printers of long materials, filter of ten long materials',
    answer: (request) =>
      paged(request, 40, (page) =>
        list(250, (nth) => ({
          cluster_id: `${page}-${nth}`,
          host_printer: { configuration: list(3, (at) => ({ extruder_index: at, material: material(nth) })) },
        })),
      ),
    work: ask(({ readPrinterFilter }) => ({
      query: 'materials',
      printers: readPrinterFilter({ material: list(10, (nth) => `b ${words(nth)}`) }),
    })),
  },
  {
    name: 'status of 2 MiB, watched',
    answer: () => bigStatus(2 * 1024 * 1024 - 1000),
    work: watch('c', 6),
  },
  {
    name: 'status of 7.8 MB, watched',
    answer: () => bigStatus(7_800_000),
    work: watch('c', 6),
  },
  {
    name: '900 other jobs in each of 20 statuses',
    answer: (request, count) => status(900, count * 900),
    work: watch('c', 20),
  },
  {
    name: 'print jobs of six states, 1.2 million values of differing names',
    answer: (request) =>
      paged(request, 16, (page) =>
        list(250, (nth) => ({ uuid: `${page}${nth}`, a: list(24, (at) => ({ [`n${Math.random()}`]: at })) })),
      ),
    work: ask(() => ({ query: 'print-jobs', filter: { ...anyFilter, status: ['a', 'b', 'c', 'd', 'e', 'f'] } })),
  },
  {
    name: '48,000 print jobs of six states',
    answer: (request) => paged(request, 32, (page) => list(250, (nth) => job(page * 250 + nth))),
    work: ask(() => ({ query: 'print-jobs', filter: { ...anyFilter, status: ['a', 'b', 'c', 'd', 'e', 'f'] } })),
  },
  {
    name: '50,000 print jobs in a form',
    answer: (request) => paged(request, 200, (page) => list(250, (nth) => job(page * 250 + nth))),
    work: async (client) => JSON.stringify(await client.choices.jobs(undefined)),
  },
  {
    name: '50,000 stored jobs in a form',
    answer: (request) =>
      paged(request, 200, (page) =>
        list(250, (nth) => ({ job_id: `${page}-${nth}`, job_name: `job ${nth} of ${page}`, status: 'uploaded' })),
      ),
    work: async (client) => JSON.stringify(await client.choices.storedJobs('job')),
  },
  {
    name: 'answer of 50,000 values that is no list',
    answer: () => differing(0, 49_900),
    work: (client, deadline) => client.requests.run({ method: 'GET', path: '/x', deadline }),
  },
  {
    name: 'answer of 8 MB of escaped text',
    answer: () => ({ data: '\u0001'.repeat(1_300_000) }),
    work: (client, deadline) => client.requests.run({ method: 'GET', path: '/x', deadline }),
  },
  {
    name: 'user with 24,000 workspaces',
    answer: () => ({ data: { user_id: 'u', organization_memberships: list(24_000, (nth) => ({ id: `${nth}` })) } }),
    work: ask(() => ({ query: 'current-user' })),
  },
  {
    name: 'report of 2 million cells, as rows',
    answer: () =>
      `${list(10, (at) => `column ${at}`).join()}\n${'abcdefgh,'.repeat(9)}abcdefgh\n`.padEnd(100).trimEnd() +
      `\n${`${'abcdefgh,'.repeat(9)}abcdefgh\n`.repeat(199_990)}`,
    work: (client, deadline) => client.receiveReport('rows', deadline),
  },
  {
    name: 'report of 64 MiB, as text',
    answer: () => `a,b\n${'äöü,ß\n'.repeat(6_000_000)}`,
    work: (client, deadline) => client.receiveReport('csv', deadline),
  },
];
