import { codeOf } from '../http/retry';
import { PrintingError } from '../service/errors';
import type { Key } from '../state/store';
import { phrase } from '../words/sentence';

/** Wraps a failure of the database. */
export type Failure = (cause: unknown) => PrintingError;

/** A value can't be read now. */
export const notReadable =
  ([kind]: Key): Failure =>
  (cause) =>
    new PrintingError(
      'FILE_NOT_READABLE',
      phrase`The saved ${kind} can't be read now (${codeOf(cause)}): check the database.`,
      {
        cause,
        outcome: 'not-sent',
      },
    );

/** A value can't be saved now. */
export const notWritable =
  ([kind]: Key): Failure =>
  (cause) =>
    new PrintingError('FILE_NOT_WRITABLE', phrase`The ${kind} can't be saved (${codeOf(cause)}): check the database.`, {
      cause,
      outcome: 'not-sent',
    });

/** A value was encrypted with the secret of another runtime. */
export const foreign = ([kind]: Key): PrintingError =>
  new PrintingError(
    'FILE_NOT_READABLE',
    phrase`The saved ${kind} was encrypted with another credential secret: give all Node-REDs that share the database the same.`,
    { outcome: 'not-sent' },
  );

/** Wraps the failure of a statement, unless it says itself what a person must do. */
export async function wrapped<T>(statement: Promise<T>, failed: Failure): Promise<T> {
  try {
    return await statement;
  } catch (error) {
    throw error instanceof PrintingError ? error : failed(error);
  }
}
