import type { NodeAPI, NodeMessage } from 'node-red';

/** Properties that Node-RED shares between copies of a message. */
const SHARED = ['req', 'res'];

/**
 * Returns a function that copies one message like `cloneMessage`, but fast enough for a million copies: it determines
 * only once which properties need a deep copy.
 */
export function copierOf<Message extends NodeMessage>(RED: NodeAPI, message: Message): () => Message {
  const deep = Object.entries(message)
    .filter(([name, value]) => typeof value === 'object' && value !== null && !SHARED.includes(name))
    .map(([name, value]) => ({ name, copy: valueCopier(RED, value as object) }));
  return () => {
    const copied = { ...message };
    for (const { name, copy } of deep) (copied as NodeMessage)[name] = copy();
    return copied;
  };
}

function valueCopier(RED: NodeAPI, value: object): () => unknown {
  if (Array.isArray(value) && isFlat(value)) return () => value.slice() as unknown[];
  if (Object.getPrototypeOf(value) === Object.prototype && isFlat(value)) return () => ({ ...value });
  return () => (RED.util.cloneMessage({ value }) as { value?: unknown }).value;
}

const isFlat = (value: object): boolean =>
  Object.values(value).every((entry) => typeof entry !== 'object' || entry === null);
