import assert from 'node:assert/strict';
import fc from 'fast-check';
import { keysOf } from '../../../lib/report/columns';
import { CsvReader, type Row } from '../../../lib/report/csv';
import { asRows, textOutput } from '../../../lib/report/outputs';
import type { PrintingError } from '../../../lib/service/errors';
import { nominalTime } from '../../helpers/nominal-time';

/** Reads a table that arrives in parts of the given sizes; the last size repeats. */
async function read(table: string | Buffer, ...sizes: number[]): Promise<{ columns: string[]; rows: Row[] }> {
  const bytes = Buffer.from(table as string);
  const reader = new CsvReader();
  const rows: Row[] = [];
  let at = 0;
  while (at < bytes.length) {
    const size = sizes.length > 1 ? (sizes.shift() ?? 1) : (sizes[0] ?? bytes.length);
    for await (const read of reader.read(bytes.subarray(at, at + size))) rows.push(...read);
    at += size;
  }
  for await (const read of reader.end()) rows.push(...read);
  return { columns: reader.columns, rows };
}

const fails = (table: string) =>
  assert.rejects(read(table), (error: PrintingError) => {
    assert.equal(error.code, 'SERVICE_ERROR');
    assert.match(error.message, /^The report can't be read as a CSV table \(CSV_\w+\): .*\.$/);
    return true;
  });

describe('report/csv', () => {
  it('reads cells unchanged, by column', async () => {
    assert.deepEqual(await read('job,status,n\n a ,finished,007\n"b, ""c""\nd",,1e3\n'), {
      columns: ['job', 'status', 'n'],
      rows: [
        { job: ' a ', status: 'finished', n: '007' },
        { job: 'b, "c"\nd', status: '', n: '1e3' },
      ],
    });
  });

  for (const [name, separator] of [
    ['commas', ','],
    ['semicolons', ';'],
    ['tabs', '\t'],
  ] as const)
    it(`detects ${name} as separators`, async () => {
      const others = [',', ';', '\t'].filter((other) => other !== separator).join('');
      const table =
        [`"a${others.repeat(4)}"`, 'b', 'c'].join(separator) + '\n' + ['1', `2${others}`, '3'].join(separator);
      assert.deepEqual(await read(table), {
        columns: [`a${others.repeat(4)}`, 'b', 'c'],
        rows: [{ [`a${others.repeat(4)}`]: '1', b: `2${others}`, c: '3' }],
      });
    });

  it('accepts a byte order mark, CR LF, blank lines and a last line without an end', async () => {
    const wanted = { columns: ['a', 'b'], rows: [{ a: '1', b: 'ä' }, { a: '2', b: '' }] }; // oxfmt-ignore
    assert.deepEqual(await read('\uFEFFa,b\r\n1,ä\r\n\r\n2,\r\n'), wanted);
    assert.deepEqual(await read('\uFEFF"a","b"\r\n1,ä\r\n2,'), wanted);
    assert.deepEqual(await read('a,b\n1,ä\r\n2,'), wanted, 'both ends of lines in one table');
  });

  it('reads a table whose header has an unpaired quote inside a cell, and refuses a header with an open one', async () => {
    const wanted = { columns: ['size (")', 'status'], rows: [{ 'size (")': '5', status: 'finished' }] };
    for (const size of [1, 100]) assert.deepEqual(await read('size (");status\n5;finished\n', size), wanted);
    assert.deepEqual((await read('"a ""b"";";c\n1;2\n')).columns, ['a "b";', 'c']);
    await fails('"size;status\n5;finished\n');
  });

  it('detects the separator after blank lines', async () => {
    for (const blank of ['\n', '\uFEFF\n', '\r\n\r\n', '\r\r'])
      for (const size of [1, 100]) {
        const end = blank.endsWith('\n') ? '\n' : '\r';
        const table = await read(`${blank}a;b${end}1;2${end}`, size);
        assert.deepEqual(table, { columns: ['a', 'b'], rows: [{ a: '1', b: '2' }] }, JSON.stringify(blank));
      }
  });

  it('accepts lines that end in CR, and keeps a CR in a cell if they end otherwise', async () => {
    const rows = [{ a: '1', b: 'x\ny' }, { a: '2', b: '' }]; // oxfmt-ignore
    assert.deepEqual(await read('a;b\r1;"x\ny"\r\r2;'), { columns: ['a', 'b'], rows });
    assert.deepEqual(await read('a;b\r1;"x\ny"\r2;\r', 4, 1), { columns: ['a', 'b'], rows });
    assert.deepEqual(await read('a;b\r'), { columns: ['a', 'b'], rows: [] });
    assert.deepEqual((await read('a,b\n1,x\ry\n')).rows, [{ a: '1', b: 'x\ry' }]);
  });

  it('reads tables without rows, without a header and without any text', async () => {
    assert.deepEqual(await read('a;b'), { columns: ['a', 'b'], rows: [] });
    assert.deepEqual(await read('a;b\r\n'), { columns: ['a', 'b'], rows: [] });
    assert.deepEqual(await read('one'), { columns: ['one'], rows: [] });
    for (const empty of ['', '\n', '\r\n\r\n', '\uFEFF']) assert.deepEqual((await read(empty)).rows, []);
  });

  it('pads short lines, and keys surplus cells by their number', async () => {
    const { rows } = await read('a,b,column_5\n1\n1,2,3,4,5\n');
    assert.deepEqual(rows, [
      { a: '1', b: '', column_5: '' },
      { a: '1', b: '2', column_5: '3', column_4: '4', column_5_2: '5' },
    ]);
  });

  it('numbers repeated names, and names blank ones', () => {
    assert.deepEqual(keysOf(['a', 'a', 'a']), ['a', 'a_2', 'a_3']);
    assert.deepEqual(keysOf(['a', 'a', 'a_2', 'a_2']), ['a', 'a_3', 'a_2', 'a_2_2']);
    assert.deepEqual(keysOf(['', 'a', ' ']), ['column_1', 'a', 'column_3']);
    fc.assert(
      fc.property(fc.array(fc.constantFrom('a', 'a_2', 'a_3', '', 'column_2', '__proto__')), (names) => {
        const keys = keysOf(names);
        assert.equal(new Set(keys).size, names.length);
        names.forEach((name, index) => {
          if (name && names.indexOf(name) === index) assert.equal(keys[index], name);
        });
      }),
    );
  });

  it('accepts names of built-in object properties', async () => {
    const { columns, rows } = await read('__proto__,constructor,toString,__proto__\nx,y,z,w\n,,,\n');
    assert.deepEqual(columns, ['__proto__', 'constructor', 'toString', '__proto___2']);
    const [first] = rows;
    assert.deepEqual(Object.entries(first ?? {}), [
      ['__proto__', 'x'],
      ['constructor', 'y'],
      ['toString', 'z'],
      ['__proto___2', 'w'],
    ]);
    assert.equal(Object.getPrototypeOf(first), Object.prototype);
    assert.equal(({} as Row).x, undefined);
  });

  it('accepts stray quotes, and rejects a quote that is never closed', async () => {
    assert.deepEqual((await read('a,b\n5" nozzle,x\n')).rows, [{ a: '5" nozzle', b: 'x' }]);
    await fails('a,b\n"never closed,x\n1,2\n');
    await fails(`a,b\n"${'never closed\n'.repeat(200_000)}`);
  });

  it('rejects an overlong header without waiting for its end', async () => {
    await fails(`"${'x'.repeat(3 * 1024 * 1024)}`);
  });

  it('names a column that is repeated 30,000 times without delay', async () => {
    const names = [...Array<string>(15_000).fill('a'), ...Array.from({ length: 15_000 }, (_, n) => `a_${n}`)];
    const all = [...names, ...Array<string>(15_000).fill(''), ...Array<string>(15_000).fill('column_7')];
    assert.equal(new Set(keysOf(all)).size, 60_000);
    const ms = await nominalTime(() => keysOf(all));
    assert.ok(ms < 100, `${ms} ms`);
  });

  for (const [what, table] of [
    ['60 kB of header', `${'a,'.repeat(30_000)}a\n1\n`],
    ['a line of 500,000 cells', `a,b\n${','.repeat(500_000)}\n`],
  ] as const)
    it(`rejects ${what} as a table`, async () => {
      await assert.rejects(read(table), { code: 'SERVICE_ERROR', message: /CSV_TOO_MANY_COLUMNS/ });
    });

  it('keys cells beyond the header without reusing its names', async () => {
    const { rows } = await read('column_4,column_4_2,b\n1,2,3,4,5\n');
    assert.deepEqual(rows, [{ column_4: '1', column_4_2: '2', b: '3', column_4_3: '4', column_5: '5' }]);
  });

  it('limits the cells of rows in memory, also of those beyond the header', async () => {
    const wide = Object.fromEntries(Array.from({ length: 200 }, (_, n) => [`c${n}`, '']));
    const output = asRows(null);
    const rows = Array<Row>(1_000).fill(wide);
    for (let part = 0; part < 10; part++) void output.rows?.(rows, ['c0']);
    assert.throws(() => void output.rows?.([wide], ['c0']), {
      code: 'TOO_LARGE',
      message: /more than 2000000 cells: choose the output file or stream/,
    });
  });

  it('limits a text in memory to 64 MiB, like rows', () => {
    assert.deepEqual([asRows(null).most, textOutput().most], [64 * 2 ** 20, 64 * 2 ** 20]);
  });

  it('hands out at most 250 rows per turn of the event loop', async () => {
    const reader = new CsvReader();
    let hasTurned = true;
    let count = 0;
    const take = async (completed: AsyncGenerator<Row[], void>) => {
      for await (const rows of completed) {
        assert.ok(hasTurned && rows.length <= 250, `${rows.length} rows`);
        hasTurned = rows.length === 0;
        setImmediate(() => (hasTurned = true));
        count += rows.length;
      }
    };
    for (const part of ['a\n', '1\n'.repeat(10_000), '1\n'.repeat(200), '1\n'.repeat(200)])
      await take(reader.read(Buffer.from(part)));
    await take(reader.end());
    assert.equal(count, 10_400);
  });

  it('reads a table the same in any parts', async () => {
    const cell = fc.string({
      unit: fc.constantFrom('a', 'ü', '🖨', ',', ';', '\t', '"', '\n', '\r', ' '),
      maxLength: 8,
    });
    const tables = fc.tuple(
      fc.constantFrom(',', ';', '\t'),
      fc.constantFrom('\n', '\r\n', '\r'),
      fc.boolean(),
      fc.array(fc.array(cell, { minLength: 3, maxLength: 3 }), { maxLength: 6 }),
    );
    const sizes = fc.array(fc.integer({ min: 1, max: 30 }), { minLength: 1, maxLength: 20 });
    await fc.assert(
      fc.asyncProperty(tables, sizes, async ([separator, end, bom, cells], parts) => {
        const quoted = (text: string) =>
          new RegExp(`["\r\n${separator}]`).test(text) ? `"${text.replaceAll('"', '""')}"` : text;
        const lines = [['first', 'second', 'third'], ...cells].map((line) => line.map(quoted).join(separator));
        const table = (bom ? '\uFEFF' : '') + lines.map((line) => line + end).join('');
        const { columns, rows } = await read(table, ...parts);
        assert.deepEqual(columns, ['first', 'second', 'third']);
        assert.deepEqual(
          rows,
          cells.map(([first, second, third]) => ({ first, second, third })),
        );
      }),
      { numRuns: 300 },
    );
  });
});
