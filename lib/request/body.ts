import { Readable } from 'node:stream';
import { PrintingError } from '../service/errors';
import { record } from '../service/json-readers';
import { phrase, type Sentence } from '../words/sentence';

/**
 * The JSON body of a PUT or POST, in the `data` envelope (interface, Upload record) unless the payload has one. A blank
 * payload becomes an empty envelope. Throws INVALID_INPUT for a value that JSON can't represent.
 */
export function readBody(payload: unknown): string {
  if (payload === undefined || payload === null || payload === '') return '{"data":{}}';
  if (ArrayBuffer.isView(payload) || payload instanceof Readable) throw unusable(phrase`it contains bytes`);
  if (typeof payload === 'function' || typeof payload === 'symbol') throw unusable(phrase`it is a ${typeof payload}`);
  const given = record(payload);
  try {
    return JSON.stringify(given && Object.hasOwn(given, 'data') ? given : { data: payload });
  } catch (cause) {
    throw unusable(phrase`it cannot be written as JSON`, cause);
  }
}

const unusable = (reason: Sentence, cause?: unknown): PrintingError =>
  new PrintingError(
    'INVALID_INPUT',
    phrase`The payload can't be the body of the request: ${reason}; set msg.payload to an object.`,
    { outcome: 'not-sent', cause },
  );
