import type { NodeAPI } from 'node-red';
import { guard } from '../../lib/time/guard';

const waiting = new Set<() => void>();
/** One for all nodes: the runtime's events warn of many listeners. */
const tell = () => {
  const now = [...waiting];
  waiting.clear();
  for (const begin of now) guard(begin)();
};

/**
 * Calls `begin` once every node of this deploy is there: what is sent earlier may get lost on its way. The returned
 * function takes that back.
 */
export function whenFlowsStarted(RED: NodeAPI, begin: () => void): () => void {
  if (waiting.size === 0) RED.events.once('flows:started', tell);
  waiting.add(begin);
  return () => {
    if (waiting.delete(begin) && waiting.size === 0) RED.events.removeListener('flows:started', tell);
  };
}
