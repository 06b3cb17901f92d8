/** Endpoints that a fault can name; `*` means any of them. */
export const ENDPOINTS = [
  'authorize',
  'token',
  'currentUser',
  'checkToken',
  'registerUpload',
  'getJob',
  'jobs',
  'deleteJob',
  'registerFile',
  'getFile',
  'deleteFile',
  'projects',
  'createProject',
  'project',
  'projectFiles',
  'projectComment',
  'featureBudgets',
  'storagePut',
  'storageGet',
  'imageGet',
  'previewGet',
  'reportGet',
  'clusters',
  'clustersSingular',
  'cluster',
  'clusterStatus',
  'clusterNote',
  'print',
  'printJob',
  'printJobNote',
  'printJobs',
  'printerAction',
  'jobAction',
  'actionStatus',
  'pendingMaintenance',
  'completedMaintenance',
  'maintain',
  'createReport',
  'getReport',
  'uptime',
  'spec',
] as const;
export type Endpoint = (typeof ENDPOINTS)[number];

/** One fault on the wire. Without any of the effects below, the answer is unchanged. */
export interface Fault {
  endpoint: Endpoint | '*';
  /** Affects only requests whose path contains this string, for example an id. */
  path?: string;
  /** Number of matching requests that pass first. Default 0. */
  after?: number;
  /** Number of affected requests. Default 1. */
  times?: number | 'always';

  /** Happens in the world before the work (default), or after it. Cluster and job are those of the request. */
  world?: WorldEvent;
  /** Delay before anything else happens, ms; with `when: 'after'`, between the work and the answer. */
  delay?: number;
  /** Delays the answer until this resolves; only tests in code can set it. */
  until?: () => Promise<unknown>;
  /** Never answers, and keeps the connection open. */
  hang?: boolean;
  /**
   * Whether `world`, `delay`, `hang`, `reset` and `status` happen `before` the work (default) or `after` it, so that only the
   * answer is late or lost.
   */
  when?: 'before' | 'after';
  /** Resets the connection. */
  reset?: boolean;
  /** Resets the connection after so many bytes of the request's body; a shorter body passes. */
  resetAtByte?: number;
  /** Stops reading after so many bytes, never answers, and keeps the connection open. */
  hangAtByte?: number;
  /** Status of the answer: with errors in the endpoint's format from 400 on, else with empty data. */
  status?: number;
  /** With `status`: error code. */
  code?: string;
  detail?: string;
  /** With `status`: Retry-After header, seconds or a date. */
  retryAfter?: number | string;
  /** With `status` (default 502): answers with a proxy's web page instead of JSON. */
  html?: boolean;
  /**
   * Truncates the answer or download. `body`: the answer still looks complete; `connection`: the connection breaks;
   * `hang`: the rest never arrives on an open connection.
   */
  cut?: 'body' | 'connection' | 'hang';
  /** With `cut`: number of bytes sent. Default: half of the body. */
  cutAtByte?: number;
  /** Sends the body one byte per so many ms, then blanks without end. */
  trickle?: number;
  /** Sets values in the answer by path (`data.0.name`, `*` for all entries). */
  set?: Record<string, unknown>;
  /** Removes paths from the answer. */
  remove?: string[];
  /** From code only: transforms the answer's body. */
  transform?: (body: unknown) => unknown;
  /** From code only: adds headers to the answer, or replaces its own. */
  headers?: Record<string, string>;
  /** From code only: replaces the answer's body. */
  content?: string;
}

/** An action of the control host, with its body. */
export interface WorldEvent extends Record<string, unknown> {
  action: string;
}

export interface AddedFault {
  /** Number of affected requests so far. */
  readonly hits: number;
  remove(): void;
}

interface Active {
  fault: Fault;
  skip: number;
  left: number;
  hits: number;
}

const EFFECTS = [
  'world',
  'delay',
  'until',
  'hang',
  'reset',
  'resetAtByte',
  'hangAtByte',
  'status',
  'code',
  'detail',
  'retryAfter',
  'html',
  'cut',
  'cutAtByte',
  'trickle',
  'set',
  'remove',
  'transform',
  'headers',
  'content',
];

/** The active faults; the first matching one affects a request. */
export class Faults {
  private active: Active[] = [];

  /** `actions` are the names of possible events in the world. */
  constructor(private readonly actions: readonly string[]) {}

  add(fault: Fault): AddedFault {
    checkFault(fault, this.actions);
    const entry: Active = {
      fault,
      skip: fault.after ?? 0,
      left: fault.times === 'always' ? Infinity : (fault.times ?? 1),
      hits: 0,
    };
    this.active.push(entry);
    return {
      get hits() {
        return entry.hits;
      },
      remove: () => {
        this.active = this.active.filter((other) => other !== entry);
      },
    };
  }

  clear(): void {
    this.active = [];
  }

  list(): Fault[] {
    return this.active.map(({ fault, skip, left }) => ({
      ...fault,
      after: skip,
      times: left === Infinity ? 'always' : left,
    }));
  }

  /** Returns the fault for this request and counts it. */
  claim(endpoint: string, path: string): Fault | undefined {
    for (const entry of this.active) {
      const { fault } = entry;
      if (fault.endpoint !== '*' && fault.endpoint !== endpoint) continue;
      if (fault.path !== undefined && !path.includes(fault.path)) continue;
      if (entry.skip > 0) {
        entry.skip--;
        continue;
      }
      entry.hits++;
      if (--entry.left <= 0) this.active = this.active.filter((other) => other !== entry);
      return fault;
    }
    return undefined;
  }
}

/** Validates a fault, which may come from JSON; throws a TypeError with the reason. */
function checkFault(fault: Fault, actions: readonly string[]): void {
  const given: Record<string, unknown> = { ...fault };
  const wholeFrom = (least: number) => (value: unknown) => Number.isInteger(value) && Number(value) >= least;
  const oneOf = (values: readonly string[]) => (value: unknown) => values.includes(String(value));
  const rules: [field: keyof Fault, fits: (value: unknown) => boolean, rule: string][] = [
    ['endpoint', oneOf([...ENDPOINTS, '*']), `one of ${ENDPOINTS.join(', ')} or *`],
    ['after', wholeFrom(0), 'a whole number from 0'],
    ['times', (value) => value === 'always' || wholeFrom(1)(value), "a whole number from 1 or 'always'"],
    ['world', (value) => actions.includes((value as Partial<WorldEvent> | null)?.action ?? ''), 'a known action'],
    ['delay', wholeFrom(0), 'a whole number of ms'],
    ['when', oneOf(['before', 'after']), 'before or after'],
    ['resetAtByte', wholeFrom(0), 'a whole number of bytes'],
    ['hangAtByte', wholeFrom(0), 'a whole number of bytes'],
    ['cutAtByte', wholeFrom(0), 'a whole number of bytes'],
    ['trickle', wholeFrom(1), 'a whole number of ms'],
    ['status', (value) => wholeFrom(200)(value) && Number(value) <= 599, 'an HTTP status from 200 to 599'],
    ['cut', oneOf(['body', 'connection', 'hang']), 'body, connection or hang'],
    ['remove', Array.isArray, 'a list of paths'],
  ];
  for (const [field, fits, rule] of rules)
    if ((field === 'endpoint' || given[field] !== undefined) && !fits(given[field]))
      throw new TypeError(`Fault: ${field} must be ${rule}.`);
  const effects = Object.keys(given).filter((field) => !['endpoint', 'path', 'after', 'times', 'when'].includes(field));
  const unknown = effects.filter((field) => !EFFECTS.includes(field));
  if (unknown.length > 0) throw new TypeError(`Fault: there is no ${unknown.join(', ')}.`);
  if (fault.cutAtByte !== undefined && fault.cut === undefined) throw new TypeError('Fault: cutAtByte needs cut.');
  if (effects.length === 0) throw new TypeError(`Fault: it needs one of ${EFFECTS.join(', ')}.`);
}

/** Returns a copy of the body with the fault's changes. */
export function changeBody(body: unknown, fault: Fault): unknown {
  let changed: unknown = structuredClone(body);
  for (const [path, value] of Object.entries(fault.set ?? {})) edit(changed, path.split('.'), () => value);
  for (const path of fault.remove ?? []) edit(changed, path.split('.'), undefined);
  if (fault.transform) changed = fault.transform(changed);
  return changed;
}

function edit(node: unknown, [key, ...rest]: string[], value: (() => unknown) | undefined): void {
  if (typeof node !== 'object' || node === null || key === undefined) return;
  const holder = node as Record<string, unknown>;
  for (const name of key === '*' ? Object.keys(holder) : [key]) {
    if (rest.length > 0) edit(holder[name], rest, value);
    else if (value) holder[name] = value();
    else Reflect.deleteProperty(holder, name);
  }
}
