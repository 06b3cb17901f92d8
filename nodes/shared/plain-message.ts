import type { NodeAPI, NodeMessage } from 'node-red';
import { PrintingError } from '../../lib/service/errors';
import { phrase } from '../../lib/words/sentence';

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
  // Node-RED takes `req` and `res` off the message while it copies, and a copy that fails would lose them.
  const known = readable(msg);
  try {
    return RED.util.cloneMessage({ ...known });
  } catch {
    const copy: NodeMessage = {};
    for (const [name, value] of Object.entries(known)) {
      try {
        Object.assign(copy, RED.util.cloneMessage({ [name]: value }));
      } catch {
        // A getter within it throws.
      }
    }
    return copy as Message;
  }
}

/** A shallow copy without the properties that can't be read. */
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
  // Function nodes and tests have realms of their own.
  if (prototype !== null && Object.getPrototypeOf(prototype) !== null) return false;
  if (!Object.isExtensible(msg)) return false;
  return Object.values(Object.getOwnPropertyDescriptors(msg)).every(
    ({ writable, configurable }) => writable && configurable,
  );
}

function valueOf(msg: NodeMessage, name: string): unknown {
  return readingOf(name, () => msg[name]);
}

/** What `read` makes of a message property. Throws INVALID_INPUT where a getter throws. */
export function readingOf<T>(name: string, read: () => T): T {
  try {
    return read();
  } catch (cause) {
    const sentence = phrase`The message property ${name} can't be read: send a message of plain values.`;
    throw new PrintingError('INVALID_INPUT', sentence, { cause });
  }
}
