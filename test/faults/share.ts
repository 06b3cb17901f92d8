import { mkdirSync, readdirSync, writeFileSync } from 'node:fs';
import { join, sep } from 'node:path';
import type { DiskFault, Mount } from './below/disk';
import type { World } from './machine';
import { Broken } from './trace';

/** Error codes of a message whose file never responds. */
const CODES = ['TIMEOUT', 'FILE_NOT_READABLE', 'FILE_NOT_WRITABLE'];

/** Network share with users' files. It stops responding at some step, until the end of the run. */
export class Share {
  #mount: Mount;
  readonly #folder: string;
  /** Names of the pending calls, by folder of the share. */
  readonly #stalled = new Map<string, Set<string>>();
  #hang: DiskFault | undefined;
  #comeBack: () => void = () => undefined;

  constructor(private readonly world: World) {
    this.#folder = world.place('share');
    mkdirSync(this.#folder);
    this.#mount = this.#mounted();
  }

  /** Returns the path of a file on the share; with `bytes`, also creates the file. */
  place(folder: string, name: string, bytes?: Buffer): string {
    mkdirSync(join(this.#folder, folder), { recursive: true });
    if (bytes) writeFileSync(join(this.#folder, folder, name), bytes);
    return join(this.#mount.at, folder, name);
  }

  /** Makes every step hang after `after` more steps. */
  hang(after: number): void {
    let left = after;
    this.world.trace.add(`share: hangs after ${after} more steps`);
    this.#addHang(() => --left < 0);
  }

  /** Ends the accesses of a process that has ended: its calls do nothing more, and the system closes its files. */
  async endProcess(): Promise<void> {
    const hang = this.#hang;
    this.world.disks.unmount(this.#mount);
    // A call of an ended process never returns. Here it fails, because the next process shares this one's threads.
    if (hang) hang.code = 'EIO';
    this.#mount.onFault = () => undefined;
    this.#comeBack();
    await this.world.activity.quiet();
    this.#mount = this.#mounted();
    if (hang?.paths) this.#addHang(hang.paths);
  }

  /** Whether nothing but the close of a file hangs in this folder. */
  isClosing(folder: string): boolean {
    const names = this.#stalled.get(folder) ?? new Set();
    return names.size === 1 && names.has('close');
  }

  /** Throws if a message with a hanging file in this folder ended for another reason than that or one of `others`. */
  checkEnd(folder: string, code: string | undefined, others: readonly string[]): void {
    if (code !== undefined && this.#stalled.has(folder) && ![...CODES, ...others].includes(code))
      throw new Broken(4, `the file in ${folder} hangs, but its message ends in ${code}`);
  }

  /** Lets the share respond again, at the end of the run. */
  async comeBack(): Promise<void> {
    this.world.trace.add('share: answers again');
    this.#comeBack();
    this.#hang = undefined;
    this.#mount.faults.clear();
    await this.world.activity.quiet();
  }

  /** Throws if files are open, or if unfinished files are left other than those that `excused` accepts. */
  checkLeft(excused: (name: string) => boolean): void {
    const open = this.world.disks.open(this.#mount);
    if (open.length > 0) throw new Broken(5, `open files are left on the share: ${open.join(' ')}`);
    const files = readdirSync(this.#folder, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
    const left = files.map(({ name }) => name).filter((name) => !/\.(gcode|csv)$/.test(name) && !excused(name));
    if (left.length > 0) throw new Broken(5, `files are left on the share: ${left.join(' ')}`);
  }

  unmount(): void {
    this.#mount.crash();
    this.world.disks.unmount(this.#mount);
  }

  #mounted(): Mount {
    const { world } = this;
    const mount = world.disks.mount(world.place('mounted-share'), this.#folder, world.time);
    mount.onFault = ({ name, path }, code) => {
      world.trace.add(`share: ${code} on ${name} of ${path}`);
      const folder = path.split(sep)[0] ?? '';
      this.#stalled.set(folder, (this.#stalled.get(folder) ?? new Set<string>()).add(name));
    };
    return mount;
  }

  #addHang(paths: (path: string) => boolean): void {
    const hang = new Promise<void>((resolve) => (this.#comeBack = resolve));
    this.#hang = { hang, paths };
    this.#mount.faults.add(this.#hang);
  }
}
