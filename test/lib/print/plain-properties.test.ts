import assert from 'node:assert/strict';
import { plainProperties } from '../../../lib/print/plain-properties';

const ROOM = 65_536;

describe('print/plain-properties', () => {
  it('keeps plain JSON values, as copies', () => {
    const msg = {
      a: 1,
      b: 'two',
      c: null,
      d: [true, { e: [] }],
      f: Object.assign(Object.create(null), { g: 1 }) as object,
    };
    const kept = plainProperties(msg);
    assert.deepEqual(kept, JSON.parse(JSON.stringify(msg)));
    msg.d.pop();
    assert.deepEqual(kept.d, [true, { e: [] }]);
  });

  const others: [string, unknown][] = [
    ['a Buffer', Buffer.from('x')],
    ['a date', new Date()],
    ['a map', new Map()],
    ['a function', () => 1],
    ['a number that JSON has not', NaN],
    ['a big integer', 1n],
    ['an instance', new URL('http://localhost/')],
    ['what says itself how it is written', { toJSON: () => 1 }],
    ['a getter that throws', Object.defineProperty({}, 'x', { enumerable: true, get: () => assert.fail() })],
    ['a hole', Array(3)],
  ];
  for (const [name, value] of others)
    it(`omits ${name}, and every property that contains one`, () => {
      assert.deepEqual(plainProperties({ value, deep: { list: [value] }, other: 1 }), { other: 1 });
    });

  it('omits circular and endlessly deep values', () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    let deep: unknown = 1;
    for (let depth = 0; depth < 100_000; depth++) deep = [deep];
    assert.deepEqual(plainProperties({ circle, deep, other: 1 }), { other: 1 });
  });

  it('keeps ids and topic first, then the smallest properties, within 64 kB of UTF-8', () => {
    const large = 'ü'.repeat(20_000);
    const msg = { big: large, small: 1, topic: large, clusterId: 'c', tiny: 2 };
    const kept = plainProperties(msg);
    assert.deepEqual(Object.keys(kept).sort(), ['clusterId', 'small', 'tiny', 'topic']);
    assert.ok(Buffer.byteLength(JSON.stringify(kept)) <= ROOM);
    assert.ok('big' in plainProperties({ ...msg, topic: '' }));
  });

  it('omits properties that belong to a connection or may hold secrets', () => {
    const msg = { req: {}, res: {}, raw: {}, headers: {}, cookies: {}, responseCookies: {}, topic: 't' };
    assert.deepEqual(plainProperties(msg), { topic: 't' });
  });
});
