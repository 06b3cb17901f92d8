import assert from 'node:assert/strict';
import path from 'node:path';
import vm from 'node:vm';
import { textOf } from '../helpers/sources';

interface FlowNode {
  name?: string;
  func: string;
  initialize: string;
}

/** The function that searches the folder, over a file system whose lists come when the test gives them. */
class Search {
  readonly statuses: string[] = [];
  readonly sent: string[] = [];
  readonly #context: Map<string, unknown>;
  readonly #node: FlowNode;
  readonly #lists: ((names: string[]) => void)[] = [];

  /** @param stored what a context store on disk brings back */
  constructor(stored: Record<string, unknown> = {}) {
    const nodes = JSON.parse(textOf('examples/04-drop-folder.json')) as FlowNode[];
    this.#node = nodes.find(({ name }) => name === 'files in the folder') ?? assert.fail();
    this.#context = new Map(Object.entries(stored));
    this.#run(this.#node.initialize, {});
  }

  look = (): unknown => this.#run(this.#node.func, {});

  get listings(): number {
    return this.#lists.length;
  }

  /** Answers the last listing. */
  answer = (names: string[]): void => this.#lists.at(-1)!(names);

  #run(code: string, msg: object): unknown {
    const readdir = () => new Promise<string[]>((resolve) => this.#lists.push(resolve));
    const lstat = () => Promise.resolve({ size: 7, mtimeMs: 1, isFile: () => true });
    return vm.runInNewContext(`(async () => {\n${code}\n})()`, {
      ...{ msg, path, os: { homedir: () => '/home/of-the-user' }, env: { get: () => '' } },
      fs: { promises: { mkdir: () => Promise.resolve(), readdir, lstat } },
      context: {
        get: (key: string) => this.#context.get(key),
        set: (key: string, value: unknown) => this.#context.set(key, value),
      },
      node: {
        status: ({ text }: { text: string }) => void this.statuses.push(text),
        send: ({ topic }: { topic: string }) => void this.sent.push(topic),
      },
    });
  }
}

/** Waits until all that can go on without a list has gone on. */
const settled = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));

describe('example 04: a share that hangs', () => {
  it('is searched once at a time, and says so', async () => {
    const search = new Search();
    const first = search.look();
    await settled();
    for (let turn = 0; turn < 3; turn += 1) void search.look();
    await settled();
    assert.equal(search.listings, 1);
    assert.deepEqual([...new Set(search.statuses)], ['the folder does not answer']);
    search.answer(['part.gcode', '.DS_Store', '._part.gcode', 'notes.txt']);
    await first;
    assert.deepEqual(search.sent, ['/home/of-the-user/print-drop/part.gcode']);
    void search.look();
    await settled();
    assert.equal(search.listings, 2);
  });

  it('does not stop the search of the next start, whose context store is on disk', async () => {
    const search = new Search({ isLooking: true });
    void search.look();
    await settled();
    assert.equal(search.listings, 1);
  });
});
