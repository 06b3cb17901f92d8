import type { NodeAPI, NodeMessage } from 'node-red';
import { invalid } from './inputs';
import { phrase } from '../../lib/words/sentence';

/**
 * Returns the message itself if its properties are writable, else a copy with writable properties. A frozen message or
 * one with getters must not fail halfway through irreversible work. Throws INVALID_INPUT for an unreadable property.
 */
export function plainMessage<Message extends NodeMessage>(msg: Message): Message {
  if (isPlain(msg)) return msg;
  const copy: NodeMessage = {};
  for (const name of Object.keys(msg)) copy[name] = valueOf(msg, name);
  return copy as Message;
}

/** Makes a deep copy like Node-RED, without the properties that can't be copied. */
export function copyMessage<Message extends NodeMessage>(RED: NodeAPI, msg: Message): Message {
  // Node-RED removes `req` and `res` from the message while copying, and a failed copy would lose them.
  const known = readable(msg);
  try {
    return RED.util.cloneMessage({ ...known });
  } catch {
    const copy: NodeMessage = {};
    for (const [name, value] of Object.entries(known)) {
      try {
        Object.assign(copy, RED.util.cloneMessage({ [name]: value }));
      } catch {
        // A nested getter throws.
      }
    }
    return copy as Message;
  }
}

/** Makes a shallow copy without the unreadable properties. */
export function readable<Message extends NodeMessage>(msg: Message): Message {
  const copy: NodeMessage = {};
  for (const name of Object.keys(msg)) {
    try {
      copy[name] = msg[name];
    } catch {
      // A getter throws.
    }
  }
  return copy as Message;
}

function isPlain(msg: NodeMessage): boolean {
  const prototype = Object.getPrototypeOf(msg) as object | null;
  // Function nodes and tests have their own realms, so the prototype's identity proves nothing.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return false;
  if (!Object.isExtensible(msg)) return false;
  return Object.values(Object.getOwnPropertyDescriptors(msg)).every(
    ({ writable, configurable }) => writable && configurable,
  );
}

function valueOf(msg: NodeMessage, name: string): unknown {
  return readingOf(name, () => msg[name]);
}

/** Calls `read` on a message property. Throws INVALID_INPUT if a getter throws. */
export function readingOf<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const sentence = phrase`The message property ${name} can't be read: send a message of plain values.`;
    throw invalid(sentence, { cause });
  }
}
