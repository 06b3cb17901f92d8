import { mkdir, mkdtemp, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { upgraded, type OlderState } from './older-world';
import { VERSION, type State } from './state';

/** Storage of the world: a user's folder, which outlives the simulator, or a temporary one. */
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

  /** Loads the stored world. Sets one aside, with a warning, that is damaged or of a version that it can't upgrade. */
  async load(): Promise<State | undefined> {
    if (!this.lasting) return undefined;
    const file = join(this.folder, 'world.json');
    const text = await readFile(file, 'utf8').catch((error: unknown) => {
      if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
      throw error;
    });
    if (text === undefined) return undefined;
    const state = parse(text);
    if (Array.isArray(state?.clusters) && state.access) {
      if (state.version === VERSION) return state as State;
      if (state.version === VERSION - 1) return upgraded(state as OlderState);
      return this.setAside(
        file,
        'other',
        `is of version ${String(state.version)}, and this simulator needs ${VERSION}`,
      );
    }
    return this.setAside(file, 'damaged', 'was damaged');
  }

  private async setAside(file: string, suffix: string, problem: string): Promise<undefined> {
    const aside = `${file}.${suffix}`;
    await rename(file, aside);
    this.warnings.push(`The stored world ${problem}: it was set aside as ${aside}, and a new one was started.`);
  }

  /** Schedules a write; call it after every change. Simultaneous changes share one write. */
  changed(state: State): void {
    if (!this.lasting) return;
    this.dirty = true;
    this.writing ??= this.writeAll(state);
    // Callers of `saved` get the failure; without this handler it would also end the process.
    this.writing.catch(() => undefined);
  }

  /** Resolves once all changes so far are on disk. */
  async saved(): Promise<void> {
    await this.writing;
  }

  async close(): Promise<void> {
    await this.saved();
    if (!this.lasting) await rm(this.folder, { recursive: true, force: true, maxRetries: 3 });
  }

  private async writeAll(state: State): Promise<void> {
    const file = join(this.folder, 'world.json');
    // Collects the changes of this turn.
    await Promise.resolve();
    try {
      while (this.dirty) {
        this.dirty = false;
        await writeFile(`${file}.new`, JSON.stringify(state), { mode: 0o600 });
        await rename(`${file}.new`, file);
      }
    } finally {
      // Runs in the same turn as the last check of `dirty`, so no change is missed.
      this.writing = undefined;
    }
  }
}

/** Parses a stored world; `undefined` if it is no JSON. */
function parse(text: string): (Partial<Omit<State, 'version'>> & { version?: unknown }) | null | undefined {
  try {
    return JSON.parse(text) as Partial<State> | null;
  } catch {
    return undefined;
  }
}
