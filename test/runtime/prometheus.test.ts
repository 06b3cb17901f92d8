import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { setTimeout as pause } from 'node:timers/promises';

import { ensurePrometheus, NO_PROMETHEUS } from '../../scripts/debian.mjs';
import { root } from '../../scripts/node-red.mjs';
import { startSimulator, type Simulator } from '../../simulator/index';
import { lean } from '../helpers/lean';
import { startPrometheus, type RunningPrometheus } from '../helpers/prometheus';
import { startRealNodeRed, type RealNodeRed } from '../helpers/real-node-red';
import { textOf } from '../helpers/sources';
import { accountOf, credentialsOf, signIn } from './sign-in';

const TOKEN = 'a-token-of-its-own';
const HOSTILE = 'Prusa "MK4" \\ {x="1"} 5\nremote_printing_evil 1';
/** Number of the simulator's kinds of printers: plain, with short words, with a station, group of two, second brand. */
const KINDS = 5;
const STATION = 3;
/** The only printer of the print queue. */
const OWN = 5;
/** Metrics without a sample on files and without a lost answer so far. */
const ABSENT = ['lease_age_seconds'];

/** The rules as shipped, but for their durations, which the tests of the rules cover. */
const rules = textOf('monitoring/alerts.yml')
  .replaceAll(/^ +for: .*\n/gm, '')
  .replace('> 900', '> 0.2');

describe('monitoring with a real Prometheus', function () {
  const folder = ensurePrometheus();
  if (folder === null) return console.log(NO_PROMETHEUS);
  let simulator: Simulator;
  let nodeRed: RealNodeRed;
  let prometheus: RunningPrometheus;

  before(async () => {
    simulator = await startSimulator({ autoApprove: true, printers: KINDS });
    const settings = lean('10-function.js', '20-inject.js');
    nodeRed = await startRealNodeRed({
      flows: flowsFor(simulator),
      credentials: credentialsOf(simulator),
      settings: { ...settings, remotePrinting: { metrics: { token: TOKEN } } },
    });
    await signIn(nodeRed);
    const { host } = new URL(nodeRed.url);
    const scrape = {
      job_name: 'remote-printing',
      metrics_path: '/remote-printing/metrics',
      authorization: { credentials: TOKEN },
      static_configs: [{ targets: [host] }],
    };
    const global = { scrape_interval: '250ms', scrape_timeout: '250ms', evaluation_interval: '250ms' };
    const config = { global, rule_files: ['rules.yml'], scrape_configs: [scrape] };
    prometheus = await startPrometheus(folder, config, rules);
    await until(async () => (await prometheus.query(`remote_printing_clusters == ${KINDS}`)).length > 0);
    // One of them is a group of two printers.
    await until(async () => (await prometheus.query('remote_printing_printer_online')).length === KINDS + 1);
    await until(async () => (await prometheus.query('remote_printing_plate_waiting')).length === 1);
  });
  after(async () => {
    await prometheus?.stop();
    await nodeRed?.kill();
    await simulator?.close();
  });

  const promtool = (args: string[], input?: string) =>
    spawnSync(join(folder, 'promtool'), args, { input, encoding: 'utf8', cwd: join(root, 'monitoring') });
  const press = async (button: string): Promise<void> => {
    const response = await nodeRed.fetch(`inject/${button}`, { method: 'POST' });
    assert.equal(response.status, 200);
  };
  const scrape = async (accept: string): Promise<string> => {
    const headers = { accept, authorization: `Bearer ${TOKEN}` };
    return (await nodeRed.fetch('remote-printing/metrics', { headers })).text();
  };
  async function until(holds: () => Promise<boolean>): Promise<void> {
    const limit = Date.now() + 60_000;
    while (!(await holds())) {
      if (Date.now() > limit) assert.fail(`waited in vain; the log:\n${nodeRed.log.slice(-20).join('\n')}`);
      await pause(25);
    }
  }
  /** Expects the alert to fire after `work`, and not before. */
  const fires = async (alert: string, work: () => Promise<void>): Promise<void> => {
    assert.ok(!(await prometheus.firing()).includes(alert), `${alert} fires too early`);
    await work();
    await until(async () => (await prometheus.firing()).includes(alert));
  };

  it('accepts the rules and the example configuration, and proves the durations of the rules', () => {
    for (const args of [
      ['check', 'rules', 'alerts.yml'],
      ['check', 'config', 'prometheus.yml'],
      ['test', 'rules', 'alerts.test.yml'],
    ]) {
      const { status, stdout, stderr } = promtool(args);
      assert.equal(status, 0, stdout + stderr);
    }
  });

  it('finds no fault in the metrics', async () => {
    const { status, stdout, stderr } = promtool(['check', 'metrics'], await scrape('text/plain'));
    assert.equal(status, 0, stdout + stderr);
  });

  it('reads each metric of the dashboard and of the rules', async () => {
    const text = textOf('monitoring/dashboard.json') + textOf('monitoring/alerts.yml');
    const names = new Set([...text.matchAll(/\bremote_printing_(\w+)/g)].map(([, name = '']) => name));
    simulator.world.printLocally(3, { name: 'local', seconds: 10_000 });
    simulator.world.advance(1_000);
    await press('ask');
    await until(async () => (await prometheus.query('remote_printing_job_progress_ratio > 0')).length > 0);
    for (const name of names) {
      const samples = await prometheus.query(`remote_printing_${name}`);
      assert.equal(samples.length > 0, !ABSENT.includes(name), name);
    }
  });

  it('evaluates each expression of the dashboard', async () => {
    const { panels } = JSON.parse(textOf('monitoring/dashboard.json')) as {
      panels: { title: string; targets: { expr: string }[] }[];
    };
    assert.ok(panels.length > 10);
    for (const { targets } of panels)
      for (const { expr } of targets) await prometheus.query(expr.replaceAll('$account', '.*'));
  });

  it('reads hostile names of printers in both formats', async () => {
    simulator.world.setName(3, HOSTILE);
    await press('ask');
    const shown = HOSTILE.replace('\n', ' ');
    await until(async () => {
      const samples = await prometheus.query('remote_printing_printer_online');
      return samples.some(({ metric }) => metric.name === shown);
    });
    assert.deepEqual(await prometheus.query('remote_printing_evil'), []);
    const { status, stdout, stderr } = promtool(['check', 'metrics'], await scrape('text/plain'));
    assert.equal(status, 0, stdout + stderr);
  });

  it('fires no alert while nothing is wrong', async () => {
    assert.deepEqual(await prometheus.firing(), []);
  });

  it('fires when maintenance is due', () =>
    fires('RemotePrintingMaintenanceDue', async () => {
      simulator.world.setMaintenanceDue(1, ['simulated_maker_one_clean_fans']);
      await press('ask');
    }));

  it('fires when material is low', () =>
    fires('RemotePrintingMaterialLow', async () => {
      simulator.world.load(2, 0, {}, 1_000);
      await press('ask');
    }));

  it('fires when a slot of a material station is low', () =>
    fires('RemotePrintingSlotLow', async () => {
      simulator.world.setSlot(STATION, 1, { extruder: 0, material: {}, remaining: 0.05 });
      await press('ask');
    }));

  it('fires when a plate waits, and counts the print', () =>
    fires('RemotePrintingPlateWaiting', async () => {
      simulator.world.setCleaning(1, 'manual');
      simulator.world.printLocally(1, { name: 'plate', seconds: 100 });
      await press('ask');
      simulator.world.advance(500);
      await press('ask');
      const finished = 'remote_printing_prints_total{result="finished"} == 1';
      await until(async () => (await prometheus.query(finished)).length === 1);
    }));

  it('fires when an item of a print queue is blocked', () =>
    fires('RemotePrintingQueueBlocked', () => press('impossible')));

  it('fires when a print queue waits for a plate', () =>
    fires('RemotePrintingQueuePlateWaiting', async () => {
      simulator.world.printLocally(OWN, { name: 'part', seconds: 100 });
      await press('ask');
      simulator.world.advance(500);
      await press('ask');
    }));

  it('fires when a printer stands idle while an item of a print queue waits for it', () =>
    fires('RemotePrintingQueuePrinterIdle', () => press('add')));

  it('fires when the outcome of a print is unknown', () =>
    fires('RemotePrintingUnknownDispatch', async () => {
      simulator.faults.add({ endpoint: 'print', reset: true });
      await press('print');
      // The rule also fires while the outcome is still being determined.
      await until(async () => (await prometheus.query('remote_printing_dispatch_unknown_total > 0')).length > 0);
    }));

  it('fires when printers cannot be read', () =>
    fires('RemotePrintingFarmStale', async () => {
      simulator.faults.add({ endpoint: 'clusterStatus', status: 400, times: 'always' });
      await press('ask');
    }));

  it('fires when the sign-in has ended', () =>
    fires('RemotePrintingSignInEnded', async () => {
      simulator.tokens.revokeGrants();
      simulator.tokens.expireAccessTokens();
      await press('ask');
    }));
});

function flowsFor(simulator: Simulator): object[] {
  const node = (id: string, type: string, settings: object, ...wires: string[][]) => ({
    ...{ id, type, z: 'tab', x: 100, y: 100, name: '' },
    ...settings,
    wires,
  });
  const { clusterId } = simulator.world.cluster(2);
  const props = [
    { p: 'payload', v: ';TIME:3600\nG28\n', vt: 'str' },
    { p: 'filename', v: 'part.gcode', vt: 'str' },
    { p: 'printKey', v: 'order 7', vt: 'str' },
  ];
  const own = simulator.world.cluster(OWN).clusterId;
  const queue = { printers: JSON.stringify([own]), match: 'lenient', material: 'any', gate: 'confirm' };
  const part = props.slice(0, 2);
  const impossible = [...part, { p: 'require', v: '{"models":["Unheard Of"]}', vt: 'json' }];
  const print = { account: 'account', cluster: clusterId, clusterType: 'str', source: 'payload', timeout: 3 };
  return [
    { id: 'tab', type: 'tab', label: 'farm' },
    accountOf(simulator),
    node('ask', 'inject', { props: [] }, ['watch']),
    node('watch', 'remote-printing-cluster-status', { account: 'account', interval: 60 }, [], []),
    node('print', 'inject', { props }, ['upload']),
    node('upload', 'remote-printing-upload-and-print', print, [], []),
    { id: 'queue', type: 'remote-printing-queue', account: 'account', name: 'Farm', ...queue },
    node('add', 'inject', { props: part }, ['item']),
    node('impossible', 'inject', { props: impossible }, ['item']),
    node('item', 'remote-printing-print-queue', { queue: 'queue', source: 'payload' }, [], []),
  ];
}
