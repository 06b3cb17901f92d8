import { PrintingError } from '../service/errors';
import { record, text } from '../service/json-readers';
import { phrase } from '../words/sentence';
import type { Topics } from './identity';

/** Meaning of a message at the node's input. `announce`: send everything again. */
export type Input =
  | { kind: 'command'; id: string; topic: string; payload: string; isRetained: boolean }
  | { kind: 'announce' | 'nothing' }
  /** The connection of the node that publishes. */
  | { kind: 'connection'; isConnected: boolean };

/** Reads a message of `mqtt in` or of a Status node. Throws INVALID_INPUT for any other. */
export function readInput(msg: Readonly<Record<string, unknown>>, topics: Topics): Input {
  const source = record(record(msg.status)?.source);
  if (source) return readStatus(record(msg.status) ?? {}, source);
  const topic = text(msg.topic);
  const { payload } = msg;
  if (topic !== null && typeof payload === 'string') {
    const id = topics.commanded(topic);
    if (id !== null) return { kind: 'command', id, topic, payload, isRetained: msg.retain === true };
    if (topics.isBirth(topic)) return { kind: payload === 'online' ? 'announce' : 'nothing' };
  }
  throw new PrintingError(
    'INVALID_INPUT',
    phrase`The node takes messages of mqtt in, as a string, on the topics of commands and of Home Assistant's birth, and those of a Status node.`,
  );
}

/** Node-RED's own MQTT nodes show a green dot while they are connected. */
function readStatus(status: Record<string, unknown>, source: Record<string, unknown>): Input {
  if (source.type !== 'mqtt out') return { kind: 'nothing' };
  return { kind: 'connection', isConnected: status.fill === 'green' };
}
