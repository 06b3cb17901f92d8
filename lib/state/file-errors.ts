import { codeOf } from '../http/retry';
import { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';
import type { Key } from './store';

/** Why a record is set aside. */
export const REASONS = {
  foreign: ([kind]: Key) => phrase`The saved ${kind} can't be decrypted (was the credential secret changed?)`,
  damaged: ([kind]: Key) => phrase`The saved ${kind} is damaged`,
  unsealed: ([kind]: Key) => phrase`The saved ${kind} is not encrypted, so anybody may have put it there`,
};

/** A value can't be read from its file now. */
export const unreadableFile = ([kind]: Key, cause: unknown): PrintingError =>
  new PrintingError(
    'FILE_NOT_READABLE',
    phrase`The saved ${kind} can't be read now (${codeOf(cause)}): check the state folder and the disk.`,
    { cause, outcome: 'not-sent' },
  );

/** A value can't be written to its file now. */
export const unwritableFile = ([kind]: Key, cause: unknown): PrintingError =>
  new PrintingError(
    'FILE_NOT_WRITABLE',
    phrase`The ${kind} can't be saved (${codeOf(cause)}): make the state folder writable and free some space.`,
    { cause, outcome: 'not-sent' },
  );
