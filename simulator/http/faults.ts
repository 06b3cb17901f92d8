/** The endpoints that a fault can name; `*` is any of them. */
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
  'storagePut',
  'storageGet',
  'imageGet',
  'reportGet',
  'clusters',
  'cluster',
  'clusterStatus',
  'print',
  'printJob',
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

/** One thing that goes wrong on the wire. Without any of the effects below, the answer is as always. */
export interface Fault {
  endpoint: Endpoint | '*';
  /** Only requests whose path contains this string, an id for example. */
  path?: string;
  /** So many matching requests pass unharmed first. Default 0. */
  after?: number;
  /** How many requests it hits. Default 1. */
  times?: number | 'always';

  /** ms to wait before anything else happens; with `when: 'after'`, when the work is done and before it is answered. */
  delay?: number;
  /** From code only: waits likewise until this resolves, so that a test can hold an answer back. */
  until?: () => Promise<unknown>;
  /** Never answers; the connection stays open. */
  hang?: boolean;
  /**
   * `delay`, `hang`, `reset` and `status` happen `before` the work is done (default), or `after` it: only its answer is
   * late or lost.
   */
  when?: 'before' | 'after';
  /** Breaks the connection off. */
  reset?: boolean;
  /** Breaks the connection off when so many bytes of the request's body have arrived; a shorter one passes. */
  resetAtByte?: number;
  /** Reads no further then, and never answers; the connection stays open. */
  hangAtByte?: number;
  /** Answers this status, from 400 on with errors in the endpoint's own shape, else with empty data. */
  status?: number;
  /** With `status`: another error code. */
  code?: string;
  detail?: string;
  /** With `status`: the Retry-After header, seconds or a date. */
  retryAfter?: number | string;
  /** With `status` (default 502): the page of a proxy instead of JSON. */
  html?: boolean;
  /**
   * The answer, a download too, ends early. `body`: yet it looks complete; `connection`: it is broken off; `hang`: the
   * rest never comes, the connection stays open.
   */
  cut?: 'body' | 'connection' | 'hang';
  /** With `cut`: so many bytes of the body are sent. Default half of them. */
  cutAtByte?: number;
  /** The answer's body comes a byte every so many ms, then blanks: for ever. */
  trickle?: number;
  /** Sets values in the answer: path (`data.0.name`, `*` for all entries) to value. */
  set?: Record<string, unknown>;
  /** Leaves paths out of the answer. */
  remove?: string[];
  /** From code only: any change of the answer's body. */
  transform?: (body: unknown) => unknown;
}

export interface AddedFault {
  /** Requests hit so far. */
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
];

/** The active faults, first come first served; a request is hit by one at most. */
export class Faults {
  private active: Active[] = [];

  add(fault: Fault): AddedFault {
    checkFault(fault);
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

  /** The fault that hits this request, now spent by one. */
  take(endpoint: string, path: string): Fault | undefined {
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

/** A fault may come from JSON: throws a TypeError that says what is wrong with it. */
function checkFault(fault: Fault): void {
  const given: Record<string, unknown> = { ...fault };
  const wholeFrom = (least: number) => (value: unknown) => Number.isInteger(value) && Number(value) >= least;
  const oneOf = (values: readonly string[]) => (value: unknown) => values.includes(String(value));
  const rules: [field: keyof Fault, fits: (value: unknown) => boolean, rule: string][] = [
    ['endpoint', oneOf([...ENDPOINTS, '*']), `one of ${ENDPOINTS.join(', ')} or *`],
    ['after', wholeFrom(0), 'a whole number from 0'],
    ['times', (value) => value === 'always' || wholeFrom(1)(value), "a whole number from 1 or 'always'"],
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

/** The body with the fault's changes, on a copy. */
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
