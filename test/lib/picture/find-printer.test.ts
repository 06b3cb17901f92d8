import assert from 'node:assert/strict';
import fc from 'fast-check';
import { findPrinter } from '../../../lib/picture/snapshots';
import { PrintingError } from '../../../lib/service/errors';
import { ScriptedService } from '../../helpers/scripted-service';
import { ClusterList } from '../../../lib/watch/polling/cluster-list';
import { StatusReader } from '../../../lib/watch/polling/status-reader';
import { limit } from '../../helpers/limits';
import { ManualClock } from '../../helpers/manual-clock';
import { phrase } from '../../../lib/words/sentence';

const NIL = '00000000-0000-0000-0000-000000000000';
const UUID = '6b9b5f3e-7a5c-4e0b-8f3e-1d2c3b4a5f60';

describe('picture/find-printer', () => {
  const cluster = (changes: object = {}) => ({
    cluster_id: 'c',
    host_guid: UUID,
    friendly_name: 'Workbench',
    is_online: true,
    ...changes,
  });
  const host = { uuid: 'host', friendly_name: 'Left one' };
  const open = (clusters: unknown, status: unknown) => {
    const service = new ScriptedService({ clusters: [clusters], clusterStatus: [status] });
    const clusterList = new ClusterList(service, new ManualClock(), new AbortController().signal);
    return { service, clusterList, statusReader: new StatusReader(service, clusterList) };
  };
  const find = async (clusters: unknown, status: unknown = {}, printerId: string | null = null) => {
    const { service, ...readers } = open(clusters, status);
    const first = await findPrinter(readers, 'c', printerId, limit());
    const again = await findPrinter(readers, 'c', printerId, limit());
    assert.deepEqual(again, first);
    assert.deepEqual([service.count('clusterStatus'), service.count('clusters')], [2, 1], 'the list is shared');
    return first;
  };
  const refused = (work: Promise<unknown>, code: string) => assert.rejects(work, { name: 'PrintingError', code });

  it('returns the host printer of the list', async () => {
    const found = await find([cluster({ cluster_id: 'other' }), cluster({ host_printer: host })]);
    assert.deepEqual(found, { printerId: 'host', name: 'Left one' });
    const nil = await find([cluster({ host_printer: { uuid: NIL } })]);
    assert.deepEqual(nil, { printerId: NIL, name: 'Workbench' });
  });

  it('returns the first printer of the status if the list has none', async () => {
    const found = await find([cluster()], { is_online: true, printers: [{ uuid: 'p1' }, { uuid: 'p2' }] });
    assert.deepEqual(found, { printerId: 'p1', name: 'Workbench' });
    const unlisted = await find([], [{ printers: [{ uuid: 'p1', friendly_name: 'One' }] }]);
    assert.deepEqual(unlisted, { printerId: 'p1', name: 'One' });
  });

  it('returns the host guid as a last resort, if it is a valid printer id', async () => {
    assert.equal((await find([cluster()], { printers: [] })).printerId, UUID);
    await refused(find([cluster({ host_guid: '0123456789ABCDEF0123' })], {}), 'NOT_FOUND');
    await refused(find([], null), 'NOT_FOUND');
  });

  it('returns the named printer, with its name if listed', async () => {
    assert.deepEqual(await find([cluster({ host_printer: host })], undefined, 'host'), {
      printerId: 'host',
      name: 'Left one',
    });
    assert.equal((await find([cluster({ host_printer: host })], undefined, 'second')).name, null);
    const unlisted = await find([], { printers: [{ uuid: 'p1' }, { uuid: 'p2', friendly_name: 'Two' }] }, 'p2');
    assert.deepEqual(unlisted, { printerId: 'p2', name: 'Two' });
  });

  it('checks first whether the printer is offline', async () => {
    await refused(find([cluster({ host_printer: host })], { is_online: false }), 'NOT_ACCEPTED');
    await refused(find([cluster({ is_online: false, host_printer: host })]), 'NOT_ACCEPTED');
    await refused(find([cluster({ is_online: false })], undefined, 'named'), 'NOT_ACCEPTED');
    await refused(find([cluster({ is_online: null })], { is_online: false, printers: [host] }), 'NOT_ACCEPTED');
    await refused(find([], { is_online: false }, 'named'), 'NOT_ACCEPTED');
  });

  it('reports an unknown cluster as the service does', async () => {
    const unknown = new PrintingError('NOT_FOUND', phrase`No such cluster.`);
    await refused(find([cluster({ is_online: false })], unknown), 'NOT_ACCEPTED');
    await refused(find([cluster()], unknown), 'NOT_FOUND');
    await refused(find([], new PrintingError('NOT_FOUND', phrase`No such cluster.`)), 'NOT_FOUND');
  });

  it('handles any answer', async () => {
    await fc.assert(
      fc.asyncProperty(fc.jsonValue(), fc.jsonValue(), async (listed, status) => {
        await find([cluster({ host_printer: listed, is_online: listed })], status).then(
          ({ printerId }) => assert.ok(printerId),
          (error: unknown) => assert.ok(error instanceof PrintingError, String(error)),
        );
      }),
    );
  });
});
