import assert from 'node:assert/strict';
import { ACCOUNT_FAMILIES, PRINTER_FAMILIES, QUEUE_FAMILIES, QUEUE_PRINTER_FAMILIES } from '../../lib/metrics/families';
import { textOf } from '../helpers/sources';

const families = [...ACCOUNT_FAMILIES, ...PRINTER_FAMILIES, ...QUEUE_FAMILIES, ...QUEUE_PRINTER_FAMILIES];
const names = families.map(({ name }) => name);

describe('monitoring', () => {
  it('lists each metric with its type in docs/monitoring.md', () => {
    const rows = [...textOf('docs/monitoring.md').matchAll(/^\| `(\w+)(?:\{[\w,]+\})?` +\| (\w+)/gm)];
    assert.deepEqual(
      rows.map(([, name, type]) => `${name} ${type}`),
      families.map(({ name, type }) => `${name} ${type}`),
    );
  });

  it('names counters by the rules of Prometheus', () => {
    for (const { name, type } of families) assert.equal(name.endsWith('_total'), type === 'counter', name);
  });

  for (const file of ['alerts.yml', 'alerts.test.yml', 'dashboard.json'])
    it(`names only metrics that exist in monitoring/${file}`, () => {
      const used = [...textOf(`monitoring/${file}`).matchAll(/\bremote_printing_(\w+)/g)].map(([, name = '']) => name);
      assert.ok(used.length > 0);
      assert.deepEqual(
        used.filter((name) => !names.includes(name.replace(/_(bucket|sum|count)$/, ''))),
        [],
      );
    });

  it('shows each metric in the dashboard or in an alert', () => {
    const shown = textOf('monitoring/dashboard.json') + textOf('monitoring/alerts.yml');
    assert.deepEqual(
      names.filter((name) => !shown.includes(`remote_printing_${name}`)),
      [],
    );
  });
});
