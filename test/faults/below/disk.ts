import fs, { type PathLike } from 'node:fs';
import { dirname, join, relative } from 'node:path';
import { createRequire } from 'node:module';
import type { Activity } from './activity';
import type { InjectedTime } from './time';

/** Single file operation, as the operating system receives it. */
export interface Step {
  name: string;
  /** Path below the mount. */
  path: string;
}

export interface DiskFault {
  /** Error code, such as EMFILE or EIO; without one, the step only takes `slow` ms. */
  code?: string;
  slow?: number;
  /** Delay of the answer to an immediate step, ms. */
  late?: number;
  /** The step returns only when this settles, as on a share that hangs. */
  hang?: Promise<unknown>;
  /** Names of the affected steps; default all. */
  names?: readonly string[];
  /** Whether a path is affected; default all. */
  paths?: (path: string) => boolean;
}

type Callback = (error: Error | null, ...results: unknown[]) => void;
type Any = (...args: unknown[]) => unknown;
type Table = Record<string, Any>;

const load = createRequire(__filename);
/** Module objects shared by every `require`: the pack and its dependencies call the functions put in them. */
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

/** Disks below the pack. Each machine accesses its disk through a mount of its own, one machine after another. */
export class Disks {
  readonly #mounts = new Map<string, Mount>();
  readonly #handles = new Map<number, { mount: Mount; path: string }>();
  readonly #plain = new Map<string, Any>();
  readonly #plainPromises = new Map<string, Any>();

  constructor(readonly activity: Activity) {}

  /** Intercepts the pack's calls to the file system. The returned function undoes that. */
  install(): () => void {
    for (const name of [...BY_PATH, ...BY_HANDLE]) {
      const plain = shared[name];
      if (!plain) continue;
      this.#plain.set(name, plain);
      const replaced = this.#callbackStyle(name, plain);
      Object.defineProperties(replaced, Object.getOwnPropertyDescriptors(plain));
      shared[name] = replaced;
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

  /** Mounts the existing folder `folder` at `at`, the machine's path, which must not exist. */
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

  /** Open files of a machine. */
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

  /** Opens, writes and closes a file in single steps, as the system does. */
  async #writeWhole(mount: Mount, name: string, [path, data, options]: unknown[]): Promise<void> {
    const given: { flag?: string; mode?: number; flush?: boolean } | null = typeof options === 'object' ? options : {};
    const flag = given?.flag ?? (name === 'appendFile' ? 'a' : 'w');
    const fd = (await this.#work(mount, 'open', [path, flag, given?.mode])) as number;
    try {
      await this.#work(mount, 'write', [fd, data]);
      if (given?.flush) await this.#work(mount, 'fsync', [fd]);
    } finally {
      await this.#work(mount, 'close', [fd]);
    }
  }

  /** Writes only a part, as left by a crash or a full disk. */
  #half(mount: Mount, path: string, [fd, data, ...where]: unknown[]): void {
    const bytes = Buffer.from(data as string);
    const position = where.findLast((value): value is number => typeof value === 'number');
    mount.before('write', path)();
    fs.writeSync(fd as number, bytes, 0, bytes.length >> 1, typeof data === 'string' ? null : (position ?? null));
  }
}

/** Replaces real paths in errors with the machine's own paths. */
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

/** The used part of FileHandle. A missing method throws; add it then. */
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

/** Folder as one machine sees it, with its faults. */
export class Mount {
  readonly faults = new Set<DiskFault>();
  /** Called before every step; calling `crash` here ends the machine at that step. */
  onStep: (step: Step) => void = () => undefined;
  onFault: (step: Step, code: string) => void = () => undefined;
  /** Number of steps so far. */
  steps = 0;
  /** Whether to record unflushed changes for a later power cut. */
  journal = false;
  #crashed = false;
  /** Files not flushed since they were written. */
  readonly #unflushed = new Set<string>();
  /** Functions that undo unflushed changes, by folder, the latest last. */
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

  /**
   * Crashes the machine: from now on, nothing reaches the disk. A call of an ended process never returns. Here it fails,
   * because the next process shares this one's threads.
   */
  crash(): void {
    this.#crashed = true;
  }

  /** Cuts the power: unflushed changes and files are lost at random. */
  cutPower(random: () => number): void {
    for (const steps of this.#undo.values()) {
      // The latest change is lost first.
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
        // The file no longer exists.
      }
    }
  }

  /** Waits for the disk and throws if it fails; `half` leaves the rest of an interrupted write. */
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
      if (this.crashed) throw failure('EIO', step.name, join(this.at, step.path));
      if (fault?.code) {
        if (fault.code === 'ENOSPC') half?.();
        this.onFault(step, fault.code);
        throw failure(fault.code, step.name, join(this.at, step.path));
      }
    } finally {
      end();
    }
  }

  /** Delays the result if the disk answers late. */
  async after<T>(step: Step, result: T): Promise<T> {
    const late = this.#faultAt(step)?.late;
    if (late !== undefined) await new Promise<void>((resolve) => this.time.after(late, resolve));
    if (this.#crashed) throw failure('EIO', step.name, join(this.at, step.path));
    return result;
  }

  #faultAt({ name, path }: Step): DiskFault | undefined {
    return [...this.faults].find(({ names, paths }) => (names?.includes(name) ?? true) && (paths?.(path) ?? true));
  }

  /** Prepares a record of what a power cut would undo. Call the returned function after the step. */
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

  /** Records activity. A stopped machine's work never continues. */
  #alive(): void {
    this.activity.touch();
  }
}
