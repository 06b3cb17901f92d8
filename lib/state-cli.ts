#!/usr/bin/env node
import { statSync } from 'node:fs';
import { asPrintingError } from './service/errors';
import { systemClock } from './time/clock';
import { Database } from './postgres/database';
import { FileStore } from './state/file-store';
import { PostgresStore } from './postgres/postgres-store';
import { moveState, type Movable } from './state/records';

const HELP = `Usage: remote-printing-state FROM TO

Copies the saved state (sign-ins, print keys, positions of events) from one place into another, empty one. Each is a folder,
by default "remote-printing" in Node-RED's user directory, or the address of a database: postgresql://user@host/database.
Stop every Node-RED that uses either of them before. Give the next one the same credentialSecret: what is encrypted stays so.
`;

const quiet = { clock: systemClock, sealedKinds: [], secrets: () => [], warn: () => undefined };

const isAddress = (name: string): boolean => /^postgres(ql)?:/.test(name);

function isFolder(name: string): boolean {
  try {
    return statSync(name).isDirectory();
  } catch {
    return false;
  }
}

function place(name: string): Movable & { close(): Promise<void> } {
  if (!isAddress(name))
    return Object.assign(new FileStore({ ...quiet, folder: name }), { close: () => Promise.resolve() });
  const log = { warn: () => undefined, info: () => undefined };
  return new PostgresStore({ ...quiet, database: new Database({ address: name, clock: systemClock, log }) });
}

async function main([from, to, ...more]: string[]): Promise<void> {
  if (from === undefined || to === undefined || more.length > 0) return print(HELP, 2);
  if (!isAddress(from) && !isFolder(from)) return print(`There is no folder ${from}.\n`, 1);
  const [source, target] = [place(from), place(to)];
  try {
    const { copied, leftOut } = await moveState(source, target);
    // A wrong name, such as that of the user directory, must not look like a success.
    if (copied === 0) print('Nothing copied: FROM has no saved state.\n', 1);
    else print(`${copied} values copied.\n`);
    if (leftOut > 0) print(`${leftOut} values were left out: they are no records of this version.\n`, 1);
  } catch (error) {
    print(`Copying stopped: ${asPrintingError(error).message}\n`, 1);
  } finally {
    await Promise.all([source.close(), target.close()]);
  }
}

function print(text: string, code = 0): void {
  process.exitCode = code;
  (code === 0 ? process.stdout : process.stderr).write(text);
}

void main(process.argv.slice(2));
