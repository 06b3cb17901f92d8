import type { Fault } from '../../simulator';
import { seeded } from '../helpers/seeded';
import type { FaultyDatabase } from './below/database';
import { Chance } from './chance';
import type { Hazard } from './hazards';
import type { World } from './machine';

/** Texts that may break patterns, pages, files, headers, paths, logs or sentences. */
const TEXTS = [
  '<img src=x onerror="alert(1)">{{{payload}}} ${x} %s %o',
  '__proto__',
  'constructor',
  'a\r\nSet-Cookie: b=c\r\n\r\n',
  '\ud800\u202e\u0000\u2028\ufeff',
  '../../../etc/passwd\0.gcode',
  'https://user:word@[::1]:99999/%zz?#',
  'http://169.254.169.254/latest',
  '2026-13-99T99:99:99.999Z',
  'NaN',
  '=1+1',
  '',
] as const;
/** Texts to repeat up to some length. Each is the worst case for a kind of pattern. */
const REPEATED = [
  'a',
  ' ',
  '\n',
  '-',
  '%',
  '"',
  '\\',
  '<',
  '(',
  '0',
  '1.',
  'é',
  '\ud83d\ude00',
  '//',
  ';',
  ', ',
  'a@',
  '==',
];
const LENGTHS = [300, 5_000, 100_000, 300_000];
/** Longest answer, characters. */
const MOST = 3_000_000;

const VALUES: readonly unknown[] = [
  null,
  true,
  -1,
  0.5,
  1e308,
  2 ** 53,
  -(2 ** 31),
  [],
  {},
  [[]],
  [null],
  { data: null },
];

const ENTRIES = [300, 5_000, 60_000];
const DEPTHS = [60, 70, 5_000];

/** Changes to an answer by an attacker on the network or by a broken service. */
export type Hostility = 'all texts' | 'one field' | 'all numbers' | 'many' | 'deep' | 'other keys' | 'whole';
const KINDS: readonly Hostility[] = [
  'all texts',
  'all texts',
  'one field',
  'one field',
  'all numbers',
  'many',
  'deep',
  'other keys',
  'whole',
];

/** Period of hostile answers: hostile in fields, shape or size. */
export function hostileHazard(world: World, chance: Chance, endpoints: readonly Fault['endpoint'][]): Hazard {
  const endpoint = chance.pick(endpoints);
  const kind = chance.pick(KINDS);
  const choices = new Chance(seeded(chance.whole(1, 1e9)));
  const times = chance.pick<number | 'always'>([1, 2, 5, 'always']);
  return {
    lasts: chance.spread(1000, 120_000),
    begin: () => {
      world.trace.add(`service: ${endpoint} will have hostile answers: ${kind}, ${times} times`);
      const transform = (body: unknown) => madeHostile(body, kind, choices);
      const added = world.simulator.faults.add({ endpoint, times, transform });
      return () => added.remove();
    },
  };
}

/** Endpoints of the object store. */
export const STORED: readonly Fault['endpoint'][] = ['storagePut', 'storageGet', 'imageGet', 'reportGet'];
const LONG = 12_000;
/** Hostile headers, and the status that a client reads them with; undefined for the status of the answer itself. */
const HEADERS: readonly { name: string; status?: number; values: readonly string[] }[] = [
  {
    ...{ name: 'retry-after', status: 429 },
    values: [
      '-1',
      '1e308',
      'NaN',
      '',
      '9'.repeat(LONG),
      '0.0001',
      'Fri, 31 Dec 9999 23:59:59 GMT',
      '1 '.repeat(LONG / 2),
    ],
  },
  {
    ...{ name: 'range', status: 308 },
    values: ['', 'bytes=0-', 'bytes=5-3', 'bytes=0--1', `bytes=0-${'9'.repeat(LONG)}`, '-'.repeat(LONG), '0-1'],
  },
  {
    ...{ name: 'location', status: 308 },
    values: ['', '//', '/', 'http://169.254.169.254/', 'javascript:alert(1)', `http://${'a.'.repeat(LONG / 2)}`],
  },
  { name: 'content-type', values: ['', 'image/', ';'.repeat(LONG), 'text/html', `image/${'x'.repeat(LONG)}`] },
  { name: 'content-encoding', values: ['gzip', 'br', 'identity', 'x', 'gzip,'.repeat(LONG / 5), ','.repeat(LONG)] },
  { name: 'content-length', values: ['0', '1', '99999999999999', '-1', '1e9', '', '9'.repeat(LONG)] },
  {
    name: 'date',
    values: ['', 'NaN', 'Thu, 01 Jan 1970 00:00:00 GMT', 'Fri, 31 Dec 9999 23:59:59 GMT', '9'.repeat(LONG)],
  },
  { name: 'x-long', values: ['a'.repeat(20_000)] },
];

/** Period of answers with a hostile header, or with a hostile text as their whole body. */
export function hostileAnswerHazard(world: World, chance: Chance, endpoints: readonly Fault['endpoint'][]): Hazard {
  const endpoint = chance.pick(endpoints);
  const times = chance.pick<number | 'always'>([1, 2, 5, 'always']);
  const { name, status, values } = chance.pick(HEADERS);
  const value = chance.pick(values);
  const effect: Partial<Fault> = chance.is(0.25)
    ? { content: hostileText(chance, MOST) }
    : { headers: { [name]: value }, ...(status !== undefined && chance.is(0.7) ? { status } : {}) };
  const shown =
    effect.content === undefined ? `${name}: ${value.slice(0, 40)} (${effect.status ?? ''})` : 'another body';
  return {
    lasts: chance.spread(1000, 120_000),
    begin: () => {
      world.trace.add(`service: ${endpoint} will answer with ${shown}, ${times} times`);
      const added = world.simulator.faults.add({ endpoint, times, ...effect });
      return () => added.remove();
    },
  };
}

/** Foreign texts on the pack's channel, sent once or repeatedly: any role of the database can send them. */
export function noticeHazard(world: World, chance: Chance, database: FaultyDatabase): Hazard {
  const choices = new Chance(seeded(chance.whole(1, 1e9)));
  const count = chance.spread(1, 400);
  const pause = chance.pick([0, 50, 1_000]);
  return {
    lasts: (count + 1) * pause,
    begin: () => {
      const texts = Array.from({ length: choices.whole(1, 5) }, () => hostileNotice(choices, database.notices));
      const shown = texts.map((text) => `${text.slice(0, 40)} (${text.length})`);
      world.trace.add(`database: ${count} foreign notices, one each ${pause} ms: ${shown.join(', ')}`);
      let left = count;
      const say = () => {
        if (left-- <= 0) return;
        database.say(choices.pick(texts));
        world.time.after(pause, say);
      };
      say();
      return () => {
        left = 0;
      };
    },
  };
}

/** Text for the database's channel: a forged, hostile or truncated notice, other JSON, or random text. */
export function hostileNotice(chance: Chance, notices: readonly string[]): string {
  const notice = { by: 'a stranger', key: ['grant', 'account'], topic: chance.pick(notices) ?? '' };
  // JSON.stringify has a depth limit.
  const kinds = KINDS.filter((kind) => kind !== 'deep');
  const forged = () => JSON.stringify(madeHostile(notice, chance.pick(kinds), chance));
  const depth = chance.pick([100, 3_000, 100_000]);
  switch (chance.pick(['forged', 'forged', 'replayed', 'cut off', 'long', 'deep', 'other', 'text'] as const)) {
    case 'forged':
      return forged();
    case 'replayed':
      return (chance.pick(notices) ?? '').replace(/"by":"[^"]*"/, `"by":"${chance.pick(['', '__proto__', 'x'])}"`);
    case 'cut off':
      return forged().slice(0, -1);
    case 'long':
      return JSON.stringify(notice).padEnd(1_000_000, chance.pick([' ', '}', '\ud800']));
    case 'deep':
      return `{"by":"a stranger","key":${'['.repeat(depth)}${chance.is(0.5) ? ']'.repeat(depth) : ''}}`;
    case 'other':
      return JSON.stringify(chance.pick(VALUES));
    case 'text':
      return hostileText(chance, MOST);
  }
}

/** Returns the answer with a hostile change. */
export function madeHostile(body: unknown, kind: Hostility, chance: Chance): unknown {
  const leaves = leavesOf(body);
  switch (kind) {
    case 'all texts': {
      const texts = leaves.filter(({ value }) => typeof value === 'string');
      const text = hostileText(chance, MOST / Math.max(1, texts.length));
      for (const { holder, name } of texts) holder[name] = text;
      return body;
    }
    case 'all numbers': {
      const number = chance.pick([1e308, -1, 0.1, 2 ** 53, 0, -1e-300]);
      for (const { holder, name, value } of leaves) if (typeof value === 'number') holder[name] = number;
      return body;
    }
    case 'one field': {
      const { holder, name } = chance.pick(leaves) ?? {};
      if (holder) holder[name] = chance.is(0.6) ? hostileText(chance, MOST) : chance.pick(VALUES);
      return body;
    }
    case 'many': {
      const count = chance.pick(ENTRIES);
      const lists = listsOf(body);
      const list = chance.pick(lists);
      if (!list) return Array.from({ length: count }, (_, index) => index);
      const most = Math.max(1, Math.floor(MOST / (JSON.stringify(list[0] ?? null).length + 1)));
      const entry = list[0] ?? {};
      while (list.length < Math.min(count, most)) list.push(entry);
      return body;
    }
    case 'deep': {
      const deep = nested(chance.pick(DEPTHS), chance.is(0.5));
      const { holder, name } = chance.pick(leaves) ?? {};
      if (!holder) return deep;
      holder[name] = deep;
      return body;
    }
    case 'other keys': {
      const { holder } = chance.pick(leaves) ?? {};
      if (holder && !Array.isArray(holder)) {
        for (let key = chance.pick(ENTRIES); key > 0; key--) holder[`key ${key}`] = '';
        for (const key of ['__proto__', 'constructor', 'toString', 'then', 'toJSON', 'length'])
          Object.defineProperty(holder, key, { value: key, enumerable: true });
      }
      return body;
    }
    case 'whole':
      return chance.pick([...VALUES, hostileText(chance, MOST)]);
  }
}

export function hostileText(chance: Chance, most: number): string {
  if (chance.is(0.4)) return chance.pick(TEXTS);
  const part = chance.pick(REPEATED);
  return part.repeat(Math.floor(Math.min(chance.pick(LENGTHS), most) / part.length)) + chance.pick(['', '!', 'x']);
}

interface Leaf {
  holder: Record<string, unknown>;
  name: string;
  value: unknown;
}

/** All values, at any depth, that are neither objects nor arrays. */
function leavesOf(body: unknown): Leaf[] {
  if (typeof body !== 'object' || body === null) return [];
  const holder = body as Record<string, unknown>;
  return Object.entries(holder).flatMap(([name, value]) =>
    typeof value === 'object' && value !== null ? leavesOf(value) : [{ holder, name, value }],
  );
}

function listsOf(body: unknown): unknown[][] {
  if (typeof body !== 'object' || body === null) return [];
  const inner = Object.values(body).flatMap(listsOf);
  return Array.isArray(body) ? [body as unknown[], ...inner] : inner;
}

function nested(depth: number, inLists: boolean): unknown {
  let value: unknown = 'x';
  for (let level = 0; level < depth; level++) value = inLists ? [value] : { x: value };
  return value;
}
