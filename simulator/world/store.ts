import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { State } from './state';

/** Where the world lives: a folder of the user's that outlives the simulator, or a temporary one that does not. */
export class Store {
  private dirty = false;
  private writing: Promise<void> | undefined;

  private constructor(
    readonly folder: string,
    private readonly lasting: boolean,
    readonly warnings: string[],
  ) {}

  static async open(dataDir: string | undefined): Promise<Store> {
    if (dataDir === undefined) return new Store(await mkdtemp(join(tmpdir(), 'remote-printing-simulator-')), false, []);
    await mkdir(dataDir, { recursive: true, mode: 0o700 });
    return new Store(dataDir, true, []);
  }

  /** The world as it was left; a damaged one is set aside with a warning. */
  async load(): Promise<State | undefined> {
    if (!this.lasting) return undefined;
    const file = join(this.folder, 'world.json');
    const text = await readFile(file, 'utf8').catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    });
    if (text === undefined) return undefined;
    try {
      const state = JSON.parse(text) as Partial<State> | null;
      if (state?.version === 3 && Array.isArray(state.clusters) && state.access) return state as State;
    } catch {
      // Not JSON: damaged, as below.
    }
    const aside = `${file}.damaged`;
    await rename(file, aside);
    this.warnings.push(`The stored world was damaged: it is set aside as ${aside}, and a new one begins.`);
    return undefined;
  }

  /** To be called after every change; writes of changes made together are one. */
  changed(state: State): void {
    if (!this.lasting) return;
    this.dirty = true;
    this.writing ??= this.writeAll(state);
    // Whoever awaits `saved` gets the failure; it must not end the process besides.
    this.writing.catch(() => undefined);
  }

  /** Resolves when all the changes so far are on disk. */
  async saved(): Promise<void> {
    await this.writing;
  }

  async close(): Promise<void> {
    await this.saved();
    if (!this.lasting) await rm(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }

  private async writeAll(state: State): Promise<void> {
    const file = join(this.folder, 'world.json');
    // Changes of the same turn go into the same file.
    await Promise.resolve();
    try {
      while (this.dirty) {
        this.dirty = false;
        await writeFile(`${file}.new`, JSON.stringify(state), { mode: 0o600 });
        await rename(`${file}.new`, file);
      }
    } finally {
      // In the same turn as the last read of `dirty`: no change can slip between.
      this.writing = undefined;
    }
  }
}
