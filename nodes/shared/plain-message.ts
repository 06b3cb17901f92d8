import type { NodeAPI, NodeMessage } from 'node-red';
import { PrintingError } from '../../lib/service/errors';
import { say } from '../../lib/words/say';

/**
 * The message itself, where its properties can be set; else a copy of it, whose properties can. A frozen message and one with
 * getters must not fail halfway through work that can't be taken back. Throws INVALID_INPUT for a property that can't be read.
 */
export function plainMessage<Message extends NodeMessage>(msg: Message): Message {
  if (isPlain(msg)) return msg;
  const copy: NodeMessage = {};
  for (const name of Object.keys(msg)) copy[name] = valueOf(msg, name);
  return copy as Message;
}

/** A deep copy as Node-RED makes them, without the properties that can't be copied. */
export function copyOf<Message extends NodeMessage>(RED: NodeAPI, msg: Message): Message {
  try {
    return RED.util.cloneMessage(msg);
  } catch {
    const copy: NodeMessage = {};
    for (const [name, value] of Object.entries(msg)) {
      try {
        Object.assign(copy, RED.util.cloneMessage({ [name]: value }));
      } catch {
        // A getter within it throws.
      }
    }
    return copy as Message;
  }
}

function isPlain(msg: NodeMessage): boolean {
  const prototype = Object.getPrototypeOf(msg) as object | null;
  // Function nodes and tests have realms of their own.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return false;
  if (!Object.isExtensible(msg)) return false;
  return Object.values(Object.getOwnPropertyDescriptors(msg)).every(
    ({ writable, configurable }) => writable && configurable,
  );
}

function valueOf(msg: NodeMessage, name: string): unknown {
  try {
    return msg[name];
  } catch (cause) {
    const sentence = say`The message property ${name} can't be read: send a message of plain values.`;
    throw new PrintingError('INVALID_INPUT', sentence, { cause });
  }
}
