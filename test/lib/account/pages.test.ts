import assert from 'node:assert/strict';
import fc from 'fast-check';
import { pagesOf, readPages } from '../../../lib/account/pages';
import type { ApiClient } from '../../../lib/account/api-client';
import { PrintingError } from '../../../lib/service/errors';
import { limit } from '../../helpers/limits';
import { ScriptedService, WholeAnswer } from '../../helpers/scripted-service';
import { phrase } from '../../../lib/words/sentence';

/** Answers with the bodies in turn. */
const scripted = (...bodies: unknown[]) =>
  new ScriptedService([...bodies.map((body) => new WholeAnswer(body)), () => assert.fail('asked too often')]);
/** Every page names the next one. */
function endlessPages(size?: { bytes: number; elements: number }): ScriptedService {
  const service: ScriptedService = new ScriptedService([
    () => new WholeAnswer({ data: [], links: { next: `?page=${service.calls.length + 1}` } }, size),
  ]);
  return service;
}
const queriesOf = ({ calls }: ScriptedService) => calls.map(({ query }) => query);
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
      const script = scripted({ data: [{ n: 1 }], ...more });
      assert.deepEqual(await read(script), [{ n: 1 }]);
      assert.deepEqual(queriesOf(script), [undefined]);
    }
  });

  it('reads all pages that the answer names, with the query of the first', async () => {
    const script = scripted(page([{ n: 1 }], 3), page([{ n: 2 }], 3), page([], 3));
    assert.deepEqual(await read(script, { status: 'waiting' }), [{ n: 1 }, { n: 2 }]);
    assert.deepEqual(queriesOf(script), [
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
    for await (const part of pagesOf(scripted({ data: entries }), 'printJobs', options)) parts.push(part);
    assert.deepEqual(parts.flat(), entries);
    assert.ok(Math.max(...parts.map(({ length }) => length)) <= 250);
    assert.ok(turns >= 10, `${turns} turns`);
  });

  it('uses only the page numbers of links', async () => {
    const next = (url: string) => ({ data: [{ n: 1 }], links: { next: url } });
    const script = scripted(next('https://elsewhere.example/steal?page=2'), next('https://x/?page=1'));
    assert.equal((await read(script)).length, 2);
    assert.deepEqual(queriesOf(script), [undefined, { page: '2' }]);
  });

  it('requests another page after a full one without page data, until a page is short or repeated', async () => {
    const full = { data: [{ n: 1 }, { n: 2 }] };
    const more = scripted(full, { data: [{ n: 3 }] });
    assert.deepEqual(await read(more, { limit: '2' }), [{ n: 1 }, { n: 2 }, { n: 3 }]);
    assert.deepEqual(queriesOf(more), [{ limit: '2' }, { limit: '2', page: '2' }]);
    assert.equal((await read(scripted(full, { data: [] }), { limit: '2' })).length, 2);
    assert.equal((await read(scripted(full, full), { limit: '2' })).length, 2);
    assert.equal((await read(scripted({ ...full, links: {} }), { limit: '2' })).length, 2);
  });

  it('goes on by page number while the service counts more entries than were read', async () => {
    const entry = (n: number) => ({ n });
    for (const paging of [
      { meta: { page: { total_count: 3 } } },
      { meta: { page: { total_count: '3', total_pages: null } }, links: { next: '?cursor=abc' } },
      { meta: { page: { total_count: 3, total_pages: 0 } }, links: {} },
      { meta: { page: { total_count: 3, total_pages: 1 } } },
    ]) {
      const script = scripted({ data: [entry(1), entry(2)], ...paging }, { data: [entry(3)] });
      assert.deepEqual(await read(script, { limit: '2' }), [entry(1), entry(2), entry(3)]);
      assert.deepEqual(queriesOf(script), [{ limit: '2' }, { limit: '2', page: '2' }]);
    }
    // The list became shorter while it was read.
    const counted = (count: number, ...data: unknown[]) => ({ data, meta: { page: { total_count: count } } });
    assert.equal((await read(scripted(counted(4, entry(1), entry(2)), counted(3, entry(3))))).length, 3);
  });

  it('rejects a list with fewer entries than the service counts, unless the licence has cut it', async () => {
    const data = [{ n: 1 }, { n: 2 }];
    const page = { total_count: 3 };
    for (const rest of [{ data: [] }, { data }, { data: [], meta: { page } }])
      await assert.rejects(read(scripted({ data, meta: { page } }, rest)), { code: 'SERVICE_ERROR' });
    assert.deepEqual(await read(scripted({ data, meta: { page, limit_reached: true } })), data);
    // The count may include what the account can't see.
    const stated = { page: { ...page, total_pages: 1 } };
    assert.deepEqual(await read(scripted({ data, meta: stated }, { data: [], meta: stated })), data);
  });

  it('follows a link to the next page where the number of pages is below the present one', async () => {
    const links = { next: 'https://x/?page=2' };
    const script = scripted({ data: [{ n: 1 }], meta: { page: { total_pages: 0 } }, links }, { data: [{ n: 2 }] });
    assert.deepEqual(await read(script), [{ n: 1 }, { n: 2 }]);
  });

  it('requests another page after a full one whose page data names no end', async () => {
    for (const paging of [
      { meta: { page: {} } },
      { meta: { page: { total_pages: 0 } } },
      { links: { next: '?c=a' } },
    ]) {
      const script = scripted({ data: [{ n: 1 }, { n: 2 }], ...paging }, { data: [{ n: 3 }] });
      assert.equal((await read(script, { limit: '2' })).length, 3);
    }
  });

  it('reads a single object as a list of one (trap 29)', async () => {
    assert.deepEqual(await read(scripted({ data: { n: 1 } })), [{ n: 1 }]);
  });

  it('rejects an answer that is not a list of records', async () => {
    for (const data of ['x', 5, null, true, {}, [null, null], ['x'], [[{ n: 1 }]], [{ n: 1 }, null]])
      await assert.rejects(read(scripted({ data })), (error) => {
        assert.ok(error instanceof PrintingError);
        assert.equal(error.code, 'SERVICE_ERROR');
        assert.match(error.message, /the print jobs/);
        return true;
      });
  });

  it('ends for any answers', async () => {
    await fc.assert(
      fc.asyncProperty(fc.anything(), fc.anything(), async (meta, links) => {
        const service: ScriptedService = new ScriptedService([
          () => new WholeAnswer({ data: [], ...(service.calls.length < 5 && { meta, links }) }),
        ]);
        await read(service);
        assert.ok(service.calls.length <= 5);
      }),
    );
    const endless = endlessPages();
    // The pages read so far are no complete list: a printer missing from it would count as removed.
    await assert.rejects(read(endless), { code: 'SERVICE_ERROR', message: /more of the print jobs than can be read/ });
    assert.equal(endless.calls.length, 1001);
  });

  for (const [what, size, pages] of [
    ['bytes', { bytes: 8 * 2 ** 20, elements: 1 }, 9],
    ['values', { bytes: 1, elements: 50_000 }, 26],
  ] as const)
    it(`fails when all pages together have too many ${what}`, async () => {
      const service = endlessPages(size);
      await assert.rejects(read(service), { code: 'SERVICE_ERROR' });
      assert.equal(service.calls.length, pages);
    });

  it('fails when all pages together have too many entries', async () => {
    const entries = Array.from({ length: 5_000 }, (_, n) => ({ n }));
    const service: ScriptedService = new ScriptedService([
      () => new WholeAnswer({ data: entries, links: { next: `?page=${service.calls.length + 1}` } }),
    ]);
    await assert.rejects(read(service), { code: 'SERVICE_ERROR' });
    assert.equal(service.calls.length, 11);
  });
});
