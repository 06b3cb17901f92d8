import type { Node, NodeAPI, NodeMessage } from 'node-red';
import { copyInTurns } from '../../lib/time/concurrency';
import { clientOf } from '../shared/account-link';
import type { Saved } from '../shared/definition';
import { invalid, readText } from '../shared/inputs';
import { workNode } from '../shared/work-node';
import { phrase } from '../../lib/words/sentence';
import { settingsOf } from '../shared/settings';
import { definition } from './definition';

/** Timeout, seconds; the node has no setting for it (reference 4, RATE_LIMITED). */
const TIMEOUT = 60;

export default function RequestNode(this: Node, RED: NodeAPI, saved: Saved<typeof definition>): void {
  RED.nodes.createNode(this, saved);
  const { method: chosen, path: pathSetting } = settingsOf(definition, saved);

  const readMethod = (msg: NodeMessage): string => {
    const method = chosen === 'msg.method' ? msg.method : chosen;
    if (typeof method === 'string') return method;
    throw invalid(phrase`Choose a method in the node or set msg.method.`);
  };
  const readPath = async (msg: NodeMessage): Promise<string> => {
    const path = await readText(RED, this, pathSetting, msg);
    if (path !== undefined) return path;
    throw invalid(phrase`Enter a path in the node or set msg.path.`);
  };

  workNode(
    RED,
    this,
    { findClient: () => clientOf(RED, definition, saved), timeout: TIMEOUT },
    async (msg, send, { client, marks, deadline, show }) => {
      const request = { method: readMethod(msg), path: await readPath(msg), payload: msg.payload, deadline };
      show({ fill: 'blue', shape: 'dot', key: 'requesting' });
      const { statusCode, headers, data } = await client.requests.run(request);
      // Flows can't change the raw answer through the payload.
      const raw = await deadline.wait(copyInTurns(data, deadline.clock));
      show({ fill: 'green', shape: 'dot', key: 'done' });
      send(Object.assign(msg, { payload: data, raw, statusCode, headers }, marks));
    },
  );
}
