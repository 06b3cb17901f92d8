import type { Node } from 'node-red';
import { settledWithin } from '../../lib/time/concurrency';
import type { Runtime } from './runtime';

/** Id of a configuration node in the editor: for an instance in a subflow, the id of the template. */
export const idInEditor = (node: Node): string => (node as { _alias?: string })._alias ?? node.id;

/** Calls `done` when `closing` has ended, or just before Node-RED would give up: hanging work continues on its own. */
export function closeInTime({ clock, closeTimeout }: Runtime, closing: Promise<unknown>, done: () => void): void {
  const ms = Math.max(0, closeTimeout - 500);
  void settledWithin(clock, ms, closing).then(done);
}
