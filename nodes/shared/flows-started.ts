import type { NodeAPI } from 'node-red';
import { guard } from '../../lib/time/guard';

const waiting = new Set<() => void>();
/** One listener for all nodes: the runtime's event emitter warns of many listeners. */
const beginAll = () => {
  const now = [...waiting];
  waiting.clear();
  for (const begin of now) guard(begin)();
};

/**
 * Calls `begin` once every node of this deploy exists: messages sent earlier could be lost. The returned function
 * cancels the call.
 */
export function whenFlowsStarted(RED: NodeAPI, begin: () => void): () => void {
  if (waiting.size === 0) RED.events.once('flows:started', beginAll);
  waiting.add(begin);
  return () => {
    if (waiting.delete(begin) && waiting.size === 0) RED.events.removeListener('flows:started', beginAll);
  };
}
