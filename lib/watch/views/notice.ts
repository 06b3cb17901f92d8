import { PrintingError, revised } from '../../service/errors';
import { phrase, type Sentence } from '../../words/sentence';

/** Printers that a notice is about: how many, and the names of the first of them. */
export interface Concerned {
  count: number;
  names: readonly string[];
  /** Of a single one. */
  clusterId: string | null;
}

/** So many names stand in a notice; the others are counted. */
export const NAMED = 3;
/** Letters of one name. */
const LONGEST_NAME = 60;

/** A printer's name as a notice has it; without a name, the first letters of its id. */
export function nameFor(clusterId: string, name: string | null | undefined): string {
  if (!name) return `${clusterId.slice(0, 6)}…`;
  return name.length > LONGEST_NAME ? `${name.slice(0, LONGEST_NAME - 1)}…` : name;
}

/** The notice of an outage; of the list alone where it concerns no printer. */
export function outageNotice(error: PrintingError, concerned: Concerned): PrintingError {
  const { sentence, ids } = error;
  const { clusterId } = concerned;
  return revised(error, {
    sentence: phrase`${whatOf(concerned)}: ${sentence}`,
    ids: { ...ids, clusterId: clusterId ?? undefined },
  });
}

const whatOf = (concerned: Concerned): Sentence => {
  const { count, names } = concerned;
  if (count === 0) return phrase`The list of printers can’t be read`;
  if (count === 1) return phrase`Printer ${names[0] ?? ''} can’t be read`;
  return phrase`${count} printers can’t be read (${listOf(concerned)})`;
};

export function recoveryNotice(concerned: Concerned, lasted: number): Sentence {
  const { count, names } = concerned;
  if (count === 0) return phrase`The list of printers can be read again after ${lasting(lasted)}.`;
  if (count === 1) return phrase`Printer ${names[0] ?? ''} can be read again after ${lasting(lasted)}.`;
  return phrase`${count} printers (${listOf(concerned)}) can be read again after ${lasting(lasted)}.`;
}

/** The notice of the end of a sign-in. */
export function signInNotice(reason: Sentence, concerned: Concerned): PrintingError {
  const { count, names, clusterId } = concerned;
  const sentence =
    count === 0
      ? reason
      : count === 1
        ? phrase`${reason} Until then printer ${names[0] ?? ''} can’t be read.`
        : phrase`${reason} Until then ${count} printers can’t be read (${listOf(concerned)}).`;
  return new PrintingError('NOT_SIGNED_IN', sentence, {
    outcome: 'not-sent',
    ids: clusterId === null ? {} : { clusterId },
  });
}

export const signedInNotice = (lasted: number): Sentence =>
  phrase`The account is signed in again after ${lasting(lasted)}.`;

function listOf({ count, names }: Concerned): Sentence {
  const [one = '', two = '', three = ''] = names;
  if (count === 2) return phrase`${one} and ${two}`;
  if (count === 3) return phrase`${one}, ${two} and ${three}`;
  return phrase`${one}, ${two}, ${three} and ${count - NAMED} more`;
}

/** How long something lasted, ms, in the units that matter. */
function lasting(ms: number): Sentence {
  const seconds = Math.round(ms / 1000);
  if (seconds < 90) return phrase`${seconds} s`;
  const minutes = Math.round(seconds / 60);
  if (minutes < 90) return phrase`${minutes} min`;
  return phrase`${Math.floor(minutes / 60)} h ${minutes % 60} min`;
}
