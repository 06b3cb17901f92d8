import assert from 'node:assert/strict';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { NodeAPI } from 'node-red';
import { metricsOf } from '../../../nodes/shared/metrics-setting';

describe('nodes/shared/metrics-setting', () => {
  let userDir: string;
  before(async () => {
    userDir = await mkdtemp(join(tmpdir(), 'metrics-'));
  });
  after(() => rm(userDir, { recursive: true, force: true }));

  /** Tokens that show the metrics; undefined while they are off. */
  const tokens = (metrics: unknown, account: { metrics?: boolean; metricsToken?: string } = {}) => {
    const RED = { settings: { userDir, remotePrinting: { metrics } } } as unknown as NodeAPI;
    return metricsOf(RED, { accountId: 'a1', ...account })?.tokens;
  };

  it('is off unless the account or settings.js turns it on', () => {
    assert.equal(tokens(undefined), undefined);
    assert.equal(tokens(false, { metricsToken: 'own' }), undefined);
    assert.equal(tokens(undefined, { metrics: true }), null);
    assert.equal(tokens(true), null);
  });

  it('accepts the token of the account and that of settings.js', () => {
    assert.deepEqual(tokens({ token: ' all ' }), ['all']);
    assert.deepEqual(tokens({ token: 'all' }, { metricsToken: 'own' }), ['own', 'all']);
    assert.deepEqual(tokens(true, { metricsToken: 'own' }), ['own']);
  });

  it('shows them to nobody while the token of the account names no value', () => {
    for (const metricsToken of ['', ' ', '${UNSET}', 'two words'])
      assert.deepEqual(tokens(undefined, { metrics: true, metricsToken }), []);
  });

  it('stays protected by a token of settings.js that is blank or missing', () => {
    for (const token of ['', '  ', undefined, null, 7]) assert.deepEqual(tokens({ token }, { metrics: true }), []);
  });
});
