import assert from 'node:assert/strict';
import { join } from 'node:path';
import { ESLint } from 'eslint';
import { root, sources, textOf } from '../helpers/sources';

const RULE = 'house/one-loop';
const eslint = new ESLint({ cwd: root });

/** Findings of the real configuration in a text that stands at `path`. */
async function findings(text: string, path: string): Promise<number> {
  const [result] = await eslint.lintText(text, { filePath: join(root, path) });
  assert.deepEqual(
    result!.messages.filter(({ fatal }) => fatal),
    [],
  );
  return result!.messages.filter(({ ruleId }) => ruleId === RULE).length;
}

const LOOPS = {
  'a loop that sleeps': `
    export async function work(clock, send) {
      for (let wait = 1000; ; wait *= 2) {
        if (await send()) return;
        await sleep(clock, wait);
      }
    }`,
  'a loop that sleeps by its deadline': `
    export async function work(deadline, send) {
      while (!(await send())) await deadline.sleep(1000);
    }`,
  'a function that plans itself': `
    export function work(clock, send, wait) {
      send().catch(() => clock.after(wait, () => work(clock, send, wait * 2)));
    }`,
  'a function that sleeps and calls itself': `
    export async function work(clock, send, wait) {
      if (await send()) return;
      await sleep(clock, wait);
      return work(clock, send, 2 * wait);
    }`,
  'two methods that plan each other': `
    export class Work {
      #failures = 0;
      #run() {
        this.send().catch(() => this.#plan(Math.min(60_000, 1000 * 2 ** this.#failures++)));
      }
      #plan(wait) {
        this.disarm = this.clock.after(wait, () => this.#run());
      }
    }`,
  'a method that passes itself to a timer': `
    export class Work {
      run = () => {
        this.wait *= 2;
        this.send().catch(() => this.clock.after(this.wait, this.run));
      };
    }`,
  'a wait of its own': `
    import { waitBefore as next } from '../time/backoff';
    export const plan = (clock, failures, work) => clock.after(next(failures, { first: 1, longest: 9 }), work);`,
};

const OTHERS = {
  'a periodic timer': `
    const EVERY = 60_000;
    export function watch(clock, work) {
      clock.after(EVERY, () => { work(2 * EVERY); watch(clock, work); });
    }`,
  'a delay': `
    export const later = (clock, ms, work) => clock.after(2 * ms, work);`,
};

describe('the rule against a second backoff loop', () => {
  for (const [what, text] of Object.entries(LOOPS)) {
    it(`reports ${what}`, async () => {
      for (const path of ['lib/print/new.ts', 'lib/postgres/new.ts', 'nodes/shared/new.ts', 'nodes/query/new.ts'])
        assert.ok((await findings(text, path)) > 0, path);
    });
  }

  it('reports a second loop in the file that has one with a reason', async () => {
    const path = 'lib/time/retry-until.ts';
    assert.equal(await findings(textOf(path), path), 0);
    assert.ok((await findings(textOf(path) + LOOPS['a loop that sleeps'], path)) > 0);
  });

  for (const [what, text] of Object.entries(OTHERS)) {
    it(`allows ${what}`, async () => {
      assert.equal(await findings(text, 'lib/print/new.ts'), 0);
    });
  }

  it('is disabled with a reason only', () => {
    const disabled = ['lib', 'nodes'].flatMap((folder) =>
      sources(/\.ts$/, folder).flatMap((path) =>
        textOf(path)
          .split('\n')
          .filter((line) => line.includes('eslint-disable'))
          .map((line) => `${path}: ${line.trim()}`),
      ),
    );
    assert.ok(disabled.length > 5);
    assert.deepEqual(
      disabled.filter((line) => !/: \/\/ eslint-disable-next-line house\/one-loop -- .{10}/.test(line)),
      [],
    );
  });
});
