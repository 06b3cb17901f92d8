import assert from 'node:assert/strict';
import fc from 'fast-check';
import { pagesOf, readPages } from '../../../lib/account/pages';
import type { CallOptions, ApiClient } from '../../../lib/account/api-client';
import { PrintingError } from '../../../lib/service/errors';
import { limit } from '../../helpers/limits';
import { phrase } from '../../../lib/words/sentence';

/** Answers with the bodies in turn, and records the queries. */
class Script implements ApiClient {
  readonly queries: CallOptions['query'][] = [];
  constructor(readonly bodies: unknown[]) {}
  async call(_endpoint: string, { query }: CallOptions) {
    this.queries.push(query);
    const body = this.bodies[this.queries.length - 1] ?? assert.fail('asked too often');
    return { status: 200, data: (body as { data: unknown }).data, body };
  }
}
const read = (service: ApiClient, query?: Record<string, string>) =>
  readPages(service, 'printJobs', { what: phrase`the print jobs`, deadline: limit(), ...(query && { query }) });
const page = (data: unknown, total: number) => ({ data, meta: { page: { total_pages: total } } });

describe('account/pages', () => {
  it('reads a single page without a query if the answer names no more', async () => {
    for (const more of [
      {},
      { meta: {} },
      { meta: { limit_reached: true } },
      { links: { next: 'https://x/?limit=5' } },
    ]) {
      const script = new Script([{ data: [{ n: 1 }], ...more }]);
      assert.deepEqual(await read(script), [{ n: 1 }]);
      assert.deepEqual(script.queries, [undefined]);
    }
  });

  it('reads all pages that the answer names, with the query of the first', async () => {
    const script = new Script([page([{ n: 1 }], 3), page([{ n: 2 }], 3), page([], 3)]);
    assert.deepEqual(await read(script, { status: 'waiting' }), [{ n: 1 }, { n: 2 }]);
    assert.deepEqual(script.queries, [
      { status: 'waiting' },
      { status: 'waiting', page: '2' },
      { status: 'waiting', page: '3' },
    ]);
  });

  it('yields a long page in parts, and lets the event loop turn between them', async () => {
    const entries = Array.from({ length: 3_000 }, (_, n) => ({ n }));
    const options = { what: phrase`the print jobs`, deadline: limit() };
    let turns = 0;
    const count = () => setImmediate(() => turns++ < 100 && count());
    count();
    const parts: unknown[][] = [];
    for await (const part of pagesOf(new Script([{ data: entries }]), 'printJobs', options)) parts.push(part);
    assert.deepEqual(parts.flat(), entries);
    assert.ok(Math.max(...parts.map(({ length }) => length)) <= 250);
    assert.ok(turns >= 10, `${turns} turns`);
  });

  it('uses only the page numbers of links', async () => {
    const next = (url: string) => ({ data: [{ n: 1 }], links: { next: url } });
    const script = new Script([next('https://elsewhere.example/steal?page=2'), next('https://x/?page=1')]);
    assert.equal((await read(script)).length, 2);
    assert.deepEqual(script.queries, [undefined, { page: '2' }]);
  });

  it('requests another page after a full one without page data, until a page is short or repeated', async () => {
    const full = { data: [{ n: 1 }, { n: 2 }] };
    const more = new Script([full, { data: [{ n: 3 }] }]);
    assert.deepEqual(await read(more, { limit: '2' }), [{ n: 1 }, { n: 2 }, { n: 3 }]);
    assert.deepEqual(more.queries, [{ limit: '2' }, { limit: '2', page: '2' }]);
    assert.equal((await read(new Script([full, { data: [] }]), { limit: '2' })).length, 2);
    // An entry that is not a record counts as well.
    assert.equal(
      (await read(new Script([{ data: [null, { n: 1 }] }, { data: [{ n: 2 }] }]), { limit: '2' })).length,
      2,
    );
    assert.equal((await read(new Script([full, full]), { limit: '2' })).length, 2);
    assert.equal((await read(new Script([{ ...full, links: {} }]), { limit: '2' })).length, 2);
  });

  it('reads a single object as a list of one, and skips entries that are not records (trap 29)', async () => {
    assert.deepEqual(await read(new Script([{ data: { n: 1 } }])), [{ n: 1 }]);
    assert.deepEqual(await read(new Script([{ data: [null, { n: 1 }, 'x', []] }])), [{ n: 1 }]);
  });

  it('rejects an answer that is not a list', async () => {
    for (const data of ['x', 5, null, true])
      await assert.rejects(read(new Script([{ data }])), (error) => {
        assert.ok(error instanceof PrintingError);
        assert.equal(error.code, 'SERVICE_ERROR');
        assert.match(error.message, /the print jobs/);
        return true;
      });
  });

  it('ends for any answers', async () => {
    await fc.assert(
      fc.asyncProperty(fc.anything(), fc.anything(), async (meta, links) => {
        let asked = 0;
        const service: ApiClient = {
          call: async () => {
            asked++;
            const body = { data: [], ...(asked < 5 ? { meta, links } : {}) };
            return { status: 200, data: [], body };
          },
        };
        await read(service);
        assert.ok(asked <= 5);
      }),
    );
    let asked = 0;
    const endless: ApiClient = {
      call: async () => ({ status: 200, data: [], body: { links: { next: `?page=${++asked + 1}` } } }),
    };
    // The pages read so far are no complete list: a printer missing from it would count as removed.
    await assert.rejects(read(endless), { code: 'SERVICE_ERROR', message: /more of the print jobs than can be read/ });
    assert.equal(asked, 1001);
  });

  for (const [what, size, pages] of [
    ['bytes', { bytes: 8 * 2 ** 20, elements: 1 }, 9],
    ['values', { bytes: 1, elements: 50_000 }, 41],
  ] as const)
    it(`fails when all pages together have too many ${what}`, async () => {
      let asked = 0;
      const service: ApiClient = {
        call: async () => ({ status: 200, data: [], body: { links: { next: `?page=${++asked + 1}` } }, size }),
      };
      await assert.rejects(read(service), { code: 'SERVICE_ERROR' });
      assert.equal(asked, pages);
    });
});
