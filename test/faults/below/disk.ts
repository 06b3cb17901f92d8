import fs, { type PathLike } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { createRequire } from 'node:module';
import type { Activity } from './activity';
import type { InjectedTime } from './time';

/** One step of work on a file, as the operating system gets it. */
export interface Step {
  name: string;
  /** Below the mount. */
  path: string;
}

export interface DiskFault {
  /** EMFILE, EIO, …; none: it only takes `slow` ms. */
  code?: string;
  slow?: number;
  /** The step is made at once, and answered so many ms later. */
  late?: number;
  /** It does not return before this is settled: as on a share that hangs. */
  hang?: Promise<unknown>;
  /** Steps that it strikes; default all. */
  names?: readonly string[];
  /** Paths that it strikes; default all. */
  paths?: (path: string) => boolean;
}

type Callback = (error: Error | null, ...results: unknown[]) => void;
type Any = (...args: unknown[]) => unknown;
type Table = Record<string, Any>;

const load = createRequire(__filename);
/** The objects that everybody's `require` gives: what is put in them is what the pack, and its dependencies, call. */
const shared = load('node:fs') as Table & { promises: Table };

const BY_PATH = [
  ...['access', 'appendFile', 'chmod', 'chown', 'copyFile', 'link', 'lstat', 'lutimes', 'mkdir', 'mkdtemp', 'readFile'],
  ...['readdir', 'readlink', 'realpath', 'rename', 'rm', 'rmdir', 'stat', 'symlink', 'truncate', 'unlink', 'utimes'],
  ...['writeFile', 'open'],
] as const;
const BY_HANDLE = [
  'close',
  'fchmod',
  'fchown',
  'fdatasync',
  'fstat',
  'fsync',
  'ftruncate',
  'futimes',
  'read',
  'write',
  'writev',
];
const TWO_PATHS = new Set(['rename', 'link', 'copyFile']);

/** Disks under the pack, each seen by one machine after the other through a mount of its own. */
export class Disks {
  readonly #mounts = new Map<string, Mount>();
  readonly #handles = new Map<number, { mount: Mount; path: string }>();
  readonly #plain = new Map<string, Any>();
  readonly #plainPromises = new Map<string, Any>();

  constructor(readonly activity: Activity) {}

  /** Puts itself between the pack and the file system; the returned function takes it away again. */
  install(): () => void {
    for (const name of [...BY_PATH, ...BY_HANDLE]) {
      const plain = shared[name];
      if (!plain) continue;
      this.#plain.set(name, plain);
      shared[name] = Object.defineProperties(this.#callbackStyle(name, plain), Object.getOwnPropertyDescriptors(plain));
    }
    for (const name of BY_PATH) {
      const plain = shared.promises[name];
      if (!plain) continue;
      this.#plainPromises.set(name, plain);
      shared.promises[name] = (...args: unknown[]) => {
        const mount = this.#mountOf(args[0]);
        return mount ? this.#promised(mount, name, args) : plain(...args);
      };
    }
    return () => {
      for (const [name, plain] of this.#plain) shared[name] = plain;
      for (const [name, plain] of this.#plainPromises) shared.promises[name] = plain;
    };
  }

  /** `at` is where a machine sees the folder `folder`, which must exist; nothing is at `at` itself. */
  mount(at: string, folder: string, time: InjectedTime): Mount {
    const mount = new Mount(at, folder, time, this.activity);
    this.#mounts.set(at, mount);
    return mount;
  }

  unmount(mount: Mount): void {
    this.#mounts.delete(mount.at);
    for (const [fd, { mount: of }] of this.#handles) {
      if (of !== mount) continue;
      this.#handles.delete(fd);
      fs.closeSync(fd);
    }
  }

  /** Files that a machine holds open. */
  open(mount: Mount): string[] {
    return [...this.#handles.values()].filter((handle) => handle.mount === mount).map(({ path }) => path);
  }

  #mountOf(path: unknown): Mount | undefined {
    if (typeof path !== 'string') return undefined;
    for (const mount of this.#mounts.values()) if (path === mount.at || path.startsWith(`${mount.at}/`)) return mount;
    return undefined;
  }

  #callbackStyle(name: string, plain: Any): Any {
    return (...args: unknown[]) => {
      const done = args.at(-1);
      if (typeof done !== 'function') return plain(...args);
      const held = typeof args[0] === 'number' ? this.#handles.get(args[0]) : undefined;
      const mount = held?.mount ?? this.#mountOf(args[0]);
      if (!mount) return plain(...args);
      const given = args.slice(0, -1);
      this.#work(mount, name, given).then(
        (result) => {
          if (name === 'read' || name === 'write') (done as Callback)(null, result, given[1]);
          else (done as Callback)(null, result);
        },
        (error: unknown) => (done as Callback)(error as Error),
      );
      return undefined;
    };
  }

  async #promised(mount: Mount, name: string, args: unknown[]): Promise<unknown> {
    const result = await this.#work(mount, name, args);
    return name === 'open' ? new Handle((step, more) => this.#work(mount, step, more), result as number) : result;
  }

  async #work(mount: Mount, name: string, args: unknown[]): Promise<unknown> {
    const fd = typeof args[0] === 'number' ? args[0] : undefined;
    const held = fd === undefined ? undefined : this.#handles.get(fd);
    if (fd !== undefined && !held) throw failure('EBADF', name, '');
    const path = held?.path ?? mount.inside(args[0] as string);
    if (name === 'writeFile' || name === 'appendFile') return this.#writeWhole(mount, name, args);
    if (name === 'write' && Buffer.byteLength(args[1] as string | Buffer) > 1) {
      await mount.gate({ name, path }, () => this.#half(mount, path, args));
    } else await mount.gate({ name, path });
    const undo = mount.before(name, path, TWO_PATHS.has(name) ? mount.inside(args[1] as string) : undefined);
    const real = fd === undefined ? [mount.real(path), ...args.slice(1)] : [...args];
    if (TWO_PATHS.has(name)) real[1] = mount.real(mount.inside(args[1] as string));
    const result = withMountPaths(mount, () => (shared[`${name}Sync`] as Any)(...real));
    undo();
    if (name === 'open') this.#handles.set(result as number, { mount, path });
    if (name === 'close' && fd !== undefined) this.#handles.delete(fd);
    if (name === 'realpath' || name === 'mkdtemp') return mount.outside(result as string);
    return mount.after({ name, path }, result);
  }

  /** As the system does it: opened, written, closed. */
  async #writeWhole(mount: Mount, name: string, [path, data, options]: unknown[]): Promise<void> {
    const given = (typeof options === 'object' ? options : {}) as {
      flag?: string;
      mode?: number;
      flush?: boolean;
    } | null;
    const flag = given?.flag ?? (name === 'appendFile' ? 'a' : 'w');
    const fd = (await this.#work(mount, 'open', [path, flag, given?.mode])) as number;
    try {
      await this.#work(mount, 'write', [fd, data]);
      if (given?.flush) await this.#work(mount, 'fsync', [fd]);
    } finally {
      await this.#work(mount, 'close', [fd]);
    }
  }

  /** What a crash or a full disk leaves of a write that had begun. */
  #half(mount: Mount, path: string, [fd, data, ...where]: unknown[]): void {
    const bytes = Buffer.from(data as string);
    const position = where.findLast((value): value is number => typeof value === 'number');
    mount.before('write', path)();
    fs.writeSync(fd as number, bytes, 0, bytes.length >> 1, typeof data === 'string' ? null : (position ?? null));
  }
}

/** Real errors name real paths; the machine knows its own. */
function withMountPaths<T>(mount: Mount, work: () => T): T {
  try {
    return work();
  } catch (thrown) {
    const error = thrown as NodeJS.ErrnoException;
    error.message = error.message.replaceAll(mount.folder, mount.at);
    if (error.path) error.path = error.path.replaceAll(mount.folder, mount.at);
    throw error;
  }
}

function failure(code: string, name: string, path: string): NodeJS.ErrnoException {
  return Object.assign(new Error(`${code}: injected, ${name} '${path}'`), { code, syscall: name, path });
}

/** As much of a FileHandle as anybody here uses; what is missing throws, and is then added. */
class Handle {
  constructor(
    private readonly work: (name: string, args: unknown[]) => Promise<unknown>,
    readonly fd: number,
  ) {}

  #do = (name: string, ...args: unknown[]) => this.work(name, [this.fd, ...args]);

  sync = () => this.#do('fsync');
  datasync = () => this.#do('fdatasync');
  stat = (options?: unknown) => this.#do('fstat', options);
  chown = (uid: number, gid: number) => this.#do('fchown', uid, gid);
  chmod = (mode: number) => this.#do('fchmod', mode);
  truncate = (size?: number) => this.#do('ftruncate', size);
  close = () => this.#do('close');
  async write(data: unknown, ...where: unknown[]) {
    return { bytesWritten: await this.#do('write', data, ...where), buffer: data };
  }
  async writeFile(data: unknown) {
    await this.#do('write', typeof data === 'string' ? Buffer.from(data) : data);
  }
  appendFile = (data: unknown) => this.writeFile(data);
  async read(buffer: Buffer, offset = 0, length = buffer.length - offset, position: number | null = null) {
    return { bytesRead: await this.#do('read', buffer, offset, length, position), buffer };
  }
  async readFile(options?: BufferEncoding | { encoding?: BufferEncoding }) {
    const parts: Buffer[] = [];
    for (;;) {
      const part = Buffer.alloc(64 * 1024);
      const { bytesRead } = await this.read(part);
      if (bytesRead === 0) break;
      parts.push(part.subarray(0, bytesRead as number));
    }
    const encoding = typeof options === 'string' ? options : options?.encoding;
    return encoding ? Buffer.concat(parts).toString(encoding) : Buffer.concat(parts);
  }
}

/** A folder as one machine sees it, with what goes wrong on it. */
export class Mount {
  readonly faults = new Set<DiskFault>();
  /** Told of every step before it is made; `crash` there ends the machine at that step. */
  onStep: (step: Step) => void = () => undefined;
  onFault: (step: Step, code: string) => void = () => undefined;
  /** Steps so far. */
  steps = 0;
  /** What is not flushed is noted, for a power cut to come. */
  journal = false;
  #crashed = false;
  /** By file: not flushed since it was written. */
  readonly #unflushed = new Set<string>();
  /** By folder: how to undo what was not flushed, the latest last. */
  readonly #undo = new Map<string, (() => void)[]>();

  constructor(
    readonly at: string,
    readonly folder: string,
    private readonly time: InjectedTime,
    private readonly activity: Activity,
  ) {}

  inside = (path: PathLike): string => relative(this.at, String(path));
  real = (path: string): string => join(this.folder, path);
  outside = (path: string): string => path.replace(this.folder, this.at);

  get crashed(): boolean {
    return this.#crashed;
  }

  /** From here on nothing reaches the disk, and nobody gets an answer. */
  crash(): void {
    this.#crashed = true;
  }

  /** What only the memory of the disk knew is lost, each by `random` (0..1 under a half: lost). */
  cutPower(random: () => number): void {
    for (const steps of this.#undo.values()) {
      // What was done last is lost first.
      for (const undo of steps.reverse()) {
        if (random() >= 0.7) break;
        undo();
      }
    }
    for (const file of this.#unflushed) {
      if (random() >= 0.7) continue;
      try {
        fs.truncateSync(this.real(file), 0);
      } catch {
        // It is gone already.
      }
    }
  }

  /** Waits for the disk, and throws where it fails; `half`: what is left of a write that breaks off. */
  async gate(step: Step, half?: () => void): Promise<void> {
    this.#alive();
    let end = this.activity.begin();
    await new Promise<void>((resolve) => this.activity.turn('disk', resolve));
    try {
      const fault = this.#faultAt(step);
      if (fault?.slow) {
        end();
        await new Promise<void>((resolve) => this.time.after(fault.slow ?? 0, resolve));
        end = this.activity.begin();
      }
      if (fault?.hang) {
        this.onFault(step, 'no answer');
        end();
        await fault.hang;
        end = this.activity.begin();
      }
      if (!this.#crashed) {
        this.steps++;
        this.onStep(step);
        if (this.crashed) half?.();
      }
      if (this.crashed) {
        end();
        return await new Promise<never>(() => undefined);
      }
      if (fault?.code) {
        if (fault.code === 'ENOSPC') half?.();
        this.onFault(step, fault.code);
        throw failure(fault.code, step.name, join(this.at, step.path));
      }
    } finally {
      end();
    }
  }

  /** Waits where the disk answers late. */
  async after<T>(step: Step, result: T): Promise<T> {
    const late = this.#faultAt(step)?.late;
    if (late !== undefined) await new Promise<void>((resolve) => this.time.after(late, resolve));
    if (this.#crashed) return new Promise<never>(() => undefined);
    return result;
  }

  #faultAt({ name, path }: Step): DiskFault | undefined {
    return [...this.faults].find(({ names, paths }) => (names?.includes(name) ?? true) && (paths?.(path) ?? true));
  }

  /** Notes what a crash of the whole machine would undo; the returned function is called when the step was made. */
  before(name: string, path: string, to?: string): () => void {
    if (!this.journal) return () => undefined;
    const content = (file: string) => {
      try {
        return fs.readFileSync(this.real(file));
      } catch {
        return undefined;
      }
    };
    const restore = (file: string, bytes: Buffer | undefined) => () => {
      if (bytes) fs.writeFileSync(this.real(file), bytes, { mode: 0o600 });
      else fs.rmSync(this.real(file), { force: true });
    };
    const undoable = (...undo: (() => void)[]) => {
      const folder = dirname(path);
      this.#undo.set(folder, [...(this.#undo.get(folder) ?? []), ...undo]);
    };
    if (name === 'write' || name === 'ftruncate') return () => this.#unflushed.add(path);
    if (name === 'fsync' || name === 'fdatasync')
      return () => {
        this.#unflushed.delete(path);
        this.#undo.delete(path);
      };
    if (name === 'rename' && to !== undefined) {
      const [moved, replaced] = [content(path), content(to)];
      return () => {
        const flushed = !this.#unflushed.delete(path);
        if (!flushed) this.#unflushed.add(to);
        undoable(restore(to, replaced), restore(path, moved));
      };
    }
    if (name === 'unlink' || name === 'rm') {
      const removed = content(path);
      return () => {
        if (removed) undoable(restore(path, removed));
      };
    }
    return () => undefined;
  }

  /** A stopped machine's work never goes on. */
  #alive(): void {
    this.activity.touch();
  }
}
