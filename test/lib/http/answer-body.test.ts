import assert from 'node:assert/strict';
import {
  array,
  assert as holds,
  asyncProperty,
  constantFrom,
  dictionary,
  integer,
  json,
  oneof,
  property,
  record,
  string,
} from 'fast-check';
import { AnswerShape, elementsOf, parseAnswer } from '../../../lib/http/answers';
import { ANSWER } from '../../../lib/rules/limits';
import { nominalStand } from '../../helpers/nominal-time';

/** Reads an answer whose bytes arrive in parts of `size`. */
async function read(text: string, size = 65_536): Promise<{ fits: boolean; parts: number; body: unknown }> {
  const bytes = Buffer.from(text);
  const shape = new AnswerShape();
  for (let at = 0; at < bytes.length; at += size)
    if (!shape.add(bytes.subarray(at, at + size))) return { fits: false, parts: 0, body: undefined };
  return { fits: true, parts: (shape.list?.cuts.length ?? 0) + 1, body: await parseAnswer(bytes, shape) };
}

/** Parses the whole text with JSON.parse. */
function whole(text: string): unknown {
  try {
    return JSON.parse(text.replace(/^\uFEFF/, ''));
  } catch {
    return undefined;
  }
}

const same = (actual: unknown, expected: unknown, what: string) =>
  // For an object, the order of its names counts too.
  assert.ok(JSON.stringify(actual) === JSON.stringify(expected), what.slice(0, 200));

/** Long enough to be split more than once. */
const LONG = '{"a":[1,"]\\",\\\\",null]},'.repeat(3_000);

describe('http/answer-body', function () {
  const frames: [string, string][] = [
    ['[', ']'],
    ['\uFEFF [ ', '\r\n] \t'],
    ['{"data":[', ']}'],
    ['\uFEFF{ "data" : [', '] , "links":{"next":"}]"}}'],
    ['{"data":[1,2],"x":[{"y":[1]}],"data":[', '],"data":7,"":0}'],
    ['{"data":1,"b":{"data":[1]},"data":[', '],"c":2}'],
    ['{"__proto__":[', '],"constructor":{"a":1}}'],
    ['{"d\\u0061ta":"\\"[{","d\\u0061ta":[', '],"data ":[[[1]]],"7":0}'],
    ['{"":[', '],"😀":"\\ud83d"}'],
    ['{"7":1,"b":{},"7":[', '],"1":[1,2]}'],
  ];
  const faulty: [string, string][] = [
    ['[', ']]'],
    ['[', ''],
    ['[', '}'],
    ['[', '] x'],
    ['[,', ']'],
    ['[] [', ']'],
    ['{"data":[', ']'],
    ['{"data":[', '}}'],
    ['{"data":[', ']]'],
    ['{"data":[', ']}}'],
    ['{"data":[', '],}'],
    ['{"data":[', ']"a":1}'],
    ['{"data":[', ']} {}'],
    ['{"data":[', '],"a":[1}]'],
    ['{,"data":[', ']}'],
    ['{"a":1 "data":[', ']}'],
    ['{"data" [', ']}'],
    ['{[', ']}'],
    ['{"data":1[', ']}'],
    ['{} {"data":[', ']}'],
    ['\uFEFF\uFEFF[', ']'],
  ];

  for (const [kind, list] of [
    ['a list', frames],
    ['no list', faulty],
  ] as const)
    for (const [start, end] of list)
      it(`reads a long list between ${start} and ${end} like JSON.parse: ${kind === 'a list' ? 'JSON' : 'no JSON'}`, async () => {
        assert.equal(whole(`${start}${LONG}1${end}`) !== undefined, kind === 'a list');
        for (const size of [65_536, 7])
          for (const entries of [`${LONG}1`, LONG, `,${LONG}1`, `${LONG},1`, `${LONG}[1}`, `${LONG}"\u0001"`]) {
            const text = `${start}${entries}${end}`;
            const { fits, parts, body } = await read(text, size);
            assert.ok(fits && parts > 2, `${parts} parts`);
            same(body, whole(text), text.slice(0, 20));
          }
      });

  it('finds a fault wherever the text is cut off or a byte is lost', async () => {
    const text = `{"a":[1],"data":[${LONG}2],"b":"c"}`;
    await holds(
      asyncProperty(integer({ min: 0, max: text.length }), integer({ min: 0, max: 2 }), async (at, lost) => {
        for (const damaged of [text.slice(0, at), text.slice(0, at) + text.slice(at + lost)])
          same((await read(damaged)).body, whole(damaged), damaged.slice(at - 20, at + 20));
      }),
      { numRuns: 60 },
    );
  });

  it('reads any JSON like JSON.parse', async () => {
    const name = oneof(constantFrom('data', '', '__proto__', '1', 'links'), string({ unit: 'binary' }));
    const list = record({ of: array(json(), { minLength: 1, maxLength: 4 }), times: integer({ min: 1, max: 3_000 }) });
    const text = ({ of, times }: { of: string[]; times: number }) => `[${Array(times).fill(of.join()).join()}]`;
    const member = oneof(json(), list.map(text));
    const members = array(record({ name, member }), { maxLength: 5 });
    const answer = oneof(
      members.map((all) => `{${all.map((one) => `${JSON.stringify(one.name)}:${one.member}`).join(' ,')}}`),
      member,
    );
    let cut = 0;
    await holds(
      asyncProperty(answer, integer({ min: 100, max: 9_000 }), async (given, size) => {
        const { fits, parts, body } = await read(given, size);
        if (!fits) return;
        if (parts > 1) cut++;
        same(body, whole(given), given);
      }),
      { numRuns: 60 },
    );
    assert.ok(cut > 5, `${cut} were read in parts`);
  });

  it('counts the values of any JSON, in whatever parts it arrives, and after it was parsed', () => {
    const valuesOf = (value: unknown): number => {
      if (typeof value !== 'object' || value === null) return 0;
      const entries = Object.values(value);
      return entries.reduce((sum: number, entry) => sum + valuesOf(entry), Math.max(1, entries.length));
    };
    const text = string({
      unit: oneof(constantFrom('"', '\\', ',', '[', '}'), string({ unit: 'binary', maxLength: 9 })),
    });
    const answer = array(oneof(text, array(text), dictionary(text, text)), { minLength: 1 });
    holds(
      property(answer, integer({ min: 1, max: 40 }), (value, size) => {
        const bytes = Buffer.from(JSON.stringify(value));
        const shape = new AnswerShape();
        for (let at = 0; at < bytes.length; at += size) assert.ok(shape.add(bytes.subarray(at, at + size)));
        assert.deepEqual([shape.elements, elementsOf(value)], [valuesOf(value), valuesOf(value)]);
      }),
    );
  });

  const printer = (n: number) => ({
    cluster_id: `id-${n}`,
    jobs: Array.from({ length: 24 }, () => ({ a: [1], b: '' })),
  });
  const differing = (n: number) => Object.fromEntries(Array.from({ length: 48 }, (_, at) => [`${n} ${at}`, at]));
  for (const [what, text, count] of [
    ['3,300 printers', JSON.stringify({ data: Array.from({ length: 3_300 }, (_, n) => printer(n)) }), 3_300],
    ['objects of different shapes', JSON.stringify(Array.from({ length: 5_000 }, (_, n) => differing(n))), 5_000],
    [
      'large entries',
      `[${Array(10)
        .fill(`[${'{},'.repeat(20_000)}1]`)
        .join()}]`,
      10,
    ],
  ] as const)
    it(`lets the event loop turn while it reads a list of ${what}`, async () => {
      const bytes = Buffer.from(text);
      const shape = new AnswerShape();
      assert.ok(shape.add(bytes));
      const ms = await nominalStand(async () => {
        const body = (await parseAnswer(bytes, shape)) as unknown[] | { data: unknown[] };
        assert.equal((Array.isArray(body) ? body : body.data).length, count);
      }, 100);
      assert.ok(ms < 100, `${ms} ms`);
    });

  it('parses each answer that is not short in a turn of its own, whatever arrives at the same time', async () => {
    const bytes = Buffer.from(JSON.stringify({ text: 'x'.repeat(ANSWER.short) }));
    let turn = 0;
    let isOver = false;
    const count = () => {
      turn++;
      if (!isOver) setImmediate(count);
    };
    setImmediate(count);
    const parsedIn = async () => {
      await parseAnswer(bytes, { list: null });
      return turn;
    };
    const turns = await Promise.all([parsedIn(), parsedIn(), parsedIn()]);
    isOver = true;
    assert.equal(new Set(turns).size, 3, String(turns));
  });

  it('ends between two parts if its caller throws', async () => {
    const shape = new AnswerShape();
    const bytes = Buffer.from(`[${LONG}1]`);
    assert.ok(shape.add(bytes));
    let left = 2;
    const beforePart = () => {
      if (left-- === 0) throw new Error('enough');
    };
    await assert.rejects(async () => parseAnswer(bytes, shape, beforePart), /enough/);
    same((await read('[1]')).body, [1], 'the next answer');
    same((await read(`[${LONG}1]`)).body, whole(`[${LONG}1]`), 'the next long answer');
  });
});
