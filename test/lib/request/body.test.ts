import assert from 'node:assert/strict';
import { Readable } from 'node:stream';
import fc from 'fast-check';
import { readBody } from '../../../lib/request/requests';
import { PrintingError } from '../../../lib/service/errors';

describe('request/body', () => {
  const puts: [unknown, string][] = [
    [{ enabled: true }, '{"data":{"enabled":true}}'],
    [{ data: { enabled: true } }, '{"data":{"enabled":true}}'],
    [{ data: null, meta: 1 }, '{"data":null,"meta":1}'],
    [[1, 2], '{"data":[1,2]}'],
    ['text', '{"data":"text"}'],
    [7, '{"data":7}'],
    [false, '{"data":false}'],
    [undefined, '{"data":{}}'],
    [null, '{"data":{}}'],
    ['', '{"data":{}}'],
    [{}, '{"data":{}}'],
  ];
  for (const [payload, body] of puts)
    it(`makes ${body} of ${JSON.stringify(payload)}`, () => assert.equal(readBody(payload), body));

  it('sends any JSON unchanged, in one envelope', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const plain = JSON.parse(JSON.stringify(value)) as unknown;
        fc.pre(plain !== null && plain !== '');
        const body = JSON.parse(readBody(value)) as { data: unknown };
        const ready = typeof plain === 'object' && !Array.isArray(plain) && Object.hasOwn(plain, 'data');
        assert.deepEqual(body, ready ? plain : { data: plain });
      }),
    );
  });

  it('rejects values that JSON can’t represent', () => {
    const circle: Record<string, unknown> = {};
    circle.self = circle;
    const unusable = [
      Buffer.from('x'),
      new Uint8Array(2),
      Readable.from(['x']),
      circle,
      { n: 1n },
      () => 1,
      Symbol('x'),
    ];
    for (const payload of unusable)
      assert.throws(
        () => readBody(payload),
        (error: unknown) => error instanceof PrintingError && error.code === 'INVALID_INPUT',
      );
  });
});
