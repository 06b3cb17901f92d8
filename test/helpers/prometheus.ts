import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { createInterface } from 'node:readline';

export interface Sample {
  metric: Record<string, string>;
  value: [time: number, value: string];
}

export interface RunningPrometheus {
  /** The samples of an instant query. */
  query(expression: string): Promise<Sample[]>;
  /** Names of the alerts that fire. */
  firing(): Promise<string[]>;
  stop(): Promise<void>;
}

/** Longest time for the start, ms. */
const START = 60_000;

/**
 * Starts Prometheus on any free port of this computer, with a storage of its own.
 * @param folder that of its programs
 * @param config its configuration as JSON, which is YAML; `rules`: text of the rule file `rules.yml`
 */
export async function startPrometheus(folder: string, config: object, rules: string): Promise<RunningPrometheus> {
  const home = await mkdtemp(join(tmpdir(), 'prometheus-'));
  await writeFile(join(home, 'rules.yml'), rules);
  await writeFile(join(home, 'prometheus.yml'), JSON.stringify(config));
  const child = spawn(
    join(folder, 'prometheus'),
    ['--config.file=prometheus.yml', '--storage.tsdb.path=data', '--web.listen-address=127.0.0.1:0'],
    { cwd: home, stdio: ['ignore', 'ignore', 'pipe'] },
  );
  const orphan = () => child.kill('SIGKILL');
  process.on('exit', orphan);
  const exited = once(child, 'exit');
  const stop = async () => {
    child.kill('SIGKILL');
    await exited;
    process.off('exit', orphan);
    await rm(home, { recursive: true, force: true });
  };
  const log: string[] = [];
  const timer = setTimeout(orphan, START);
  const address = await new Promise<string>((resolve, reject) => {
    let [found, isReady]: [string | undefined, boolean] = [undefined, false];
    createInterface({ input: child.stderr }).on('line', (line) => {
      log.push(line);
      // The two lines come in either order.
      found ??= /msg="Listening on" address=(\S+)/.exec(line)?.[1];
      isReady ||= line.includes('Server is ready to receive web requests');
      if (found && isReady) resolve(`http://${found}`);
    });
    exited.then(() => reject(new Error(`Prometheus ended:\n${log.slice(-10).join('\n')}`)), reject);
  })
    .catch(async (error: unknown) => {
      await stop();
      throw error;
    })
    .finally(() => clearTimeout(timer));
  const api = async (path: string): Promise<{ data: Record<string, unknown[]> }> => {
    const response = await fetch(`${address}/api/v1/${path}`);
    const body = (await response.json()) as { status: string; data: Record<string, unknown[]>; error?: string };
    assert.equal(body.status, 'success', body.error);
    return body;
  };
  return {
    query: async (expression) => {
      const { data } = await api(`query?${new URLSearchParams({ query: expression }).toString()}`);
      return (data.result ?? []) as Sample[];
    },
    firing: async () => {
      const alerts = (await api('alerts')).data.alerts as { state: string; labels: Record<string, string> }[];
      return alerts.filter(({ state }) => state === 'firing').map(({ labels }) => labels.alertname ?? '');
    },
    stop,
  };
}
