import { PrintingError, revised } from '../../service/errors';
import { phrase, type Sentence } from '../../words/sentence';
import type { AffectedPrinters } from '../checkpoints/outage-memory';

/** Number of names in a notice; the others are counted. */
export const NAMED = 3;
/** Longest name in a notice, characters. */
const LONGEST_NAME = 60;

/** Shortens a printer's name for a notice; without a name, returns the first characters of its id. */
export function nameFor(clusterId: string, name: string | null | undefined): string {
  if (!name) return `${clusterId.slice(0, 6)}…`;
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name;
}

/** Notice of an outage. It names the list of printers if no printer is affected. */
export function outageNotice(error: PrintingError, affected: AffectedPrinters): PrintingError {
  const { sentence, ids } = error;
  const { clusterId } = affected;
  return revised(error, {
    sentence: phrase`${whatOf(affected)}: ${sentence}`,
    ids: { ...ids, clusterId: clusterId ?? undefined },
  });
}

const whatOf = (affected: AffectedPrinters): Sentence => {
  const { count, names } = affected;
  if (count === 0) return phrase`The list of printers can’t be read`;
  if (count === 1) return phrase`Printer ${names[0] ?? ''} can’t be read`;
  return phrase`${count} printers can’t be read (${listOf(affected)})`;
};

/** Notice of the end of an outage. */
export function recoveryNotice(affected: AffectedPrinters, duration: number): Sentence {
  const { count, names } = affected;
  if (count === 0) return phrase`The list of printers can be read again after ${formatDuration(duration)}.`;
  if (count === 1) return phrase`Printer ${names[0] ?? ''} can be read again after ${formatDuration(duration)}.`;
  return phrase`${count} printers (${listOf(affected)}) can be read again after ${formatDuration(duration)}.`;
}

/** Notice of the end of a sign-in. */
export function signInNotice(reason: Sentence, affected: AffectedPrinters): PrintingError {
  const { count, names, clusterId } = affected;
  const sentence =
    count === 0
      ? reason
      : count === 1
        ? phrase`${reason} Until then printer ${names[0] ?? ''} can’t be read.`
        : phrase`${reason} Until then ${count} printers can’t be read (${listOf(affected)}).`;
  return new PrintingError('NOT_SIGNED_IN', sentence, {
    outcome: 'not-sent',
    ids: clusterId === null ? {} : { clusterId },
  });
}

export const signedInNotice = (duration: number): Sentence =>
  phrase`The account is signed in again after ${formatDuration(duration)}.`;

function listOf({ count, names }: AffectedPrinters): Sentence {
  const [one = '', two = '', three = ''] = names;
  if (count === 2) return phrase`${one} and ${two}`;
  if (count === 3) return phrase`${one}, ${two} and ${three}`;
  return phrase`${one}, ${two}, ${three} and ${count - NAMED} more`;
}

/** Formats a duration, ms, in suitable units. */
function formatDuration(ms: number): Sentence {
  const seconds = Math.round(ms / 1000);
  if (seconds < 90) return phrase`${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return phrase`${minutes} min`;
  return phrase`${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
