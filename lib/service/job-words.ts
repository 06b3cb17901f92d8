/** Normalized state of a job (reference 3.2); `status` remains the service's word. */
export type JobState =
  | 'waiting'
  | 'approval'
  | 'attention'
  | 'preparing'
  | 'printing'
  | 'paused'
  | 'finishing'
  | 'finished'
  | 'failed'
  | 'aborted'
  | 'unknown';

/** The service's words for one print job: its status (wire facts 12.2) and its coarse state (12.3). */
interface Words {
  status: string | null;
  serviceState: string | null;
}

/** The meaning of a job's words. */
interface Meaning {
  state: JobState;
  /** `decided`: the job has ended, and the word says how. `open`: it has ended, but the word alone does not say how. */
  end: 'decided' | 'open' | null;
  /** Whether it is on its printer from the first heating on, and nothing else can be printed there. */
  isOnPrinter: boolean;
  /** Whether its print lies on the plate, and the printer waits for a person to take it off. */
  isPlateWaiting: boolean;
}

type Answer = 'ended' | 'on the printer' | 'plate waits';

const says = (state: JobState, ...answers: Answer[]): Meaning => ({
  state,
  end: answers.includes('ended') ? 'decided' : null,
  isOnPrinter: answers.includes('on the printer'),
  isPlateWaiting: answers.includes('plate waits'),
});

/** The status words whose meaning is known (wire facts 12.2). */
const BY_STATUS: ReadonlyMap<string, Meaning> = new Map(
  Object.entries({
    queued: says('waiting'),
    wait_approval: says('approval'),
    wait_user_action: says('attention'),
    wait_for_configuration: says('attention'),
    sent_to_printer: says('preparing'),
    pre_print: says('preparing', 'on the printer'),
    printing: says('printing', 'on the printer'),
    pausing: says('paused', 'on the printer'),
    paused: says('paused', 'on the printer'),
    resuming: says('paused', 'on the printer'),
    post_print: says('finishing', 'on the printer'),
    // Not an end yet: it can still end otherwise.
    aborting: says('aborted', 'on the printer'),
    aborted_post_print: says('aborted', 'ended', 'on the printer'),
    failed_post_print: says('failed', 'ended', 'on the printer'),
    aborted_wait_user_action: says('aborted', 'ended', 'on the printer'),
    failed_wait_user_action: says('failed', 'ended', 'on the printer'),
    aborted_wait_cleanup: says('aborted', 'ended', 'plate waits'),
    failed_wait_cleanup: says('failed', 'ended', 'plate waits'),
    // Its time says whether it finished (`stateOf`).
    wait_cleanup: { ...says('finishing', 'plate waits'), end: 'open' },
    aborted: says('aborted', 'ended'),
    finished: says('finished', 'ended'),
    failed: says('failed', 'ended'),
    error: says('failed', 'ended'),
  }),
);

/** States by coarse state, for a missing or unknown status. */
const BY_COARSE_STATE: ReadonlyMap<string, JobState> = new Map([
  ['wait_approval', 'approval'],
  ['sending', 'preparing'],
  ['waiting', 'waiting'],
  ['in_progress', 'printing'],
]);

/** Coarse states of a job that has ended. */
const OVER: readonly (string | null)[] = ['history', 'deleted'];

const meaningOf = ({ status, serviceState }: Words): Meaning =>
  BY_STATUS.get(status ?? '') ?? byParts(status ?? '', serviceState);

/** Reads a missing or unknown status by its parts, or else by the coarse state (wire facts 12.2, last row). */
function byParts(status: string, serviceState: string | null): Meaning {
  const ended = status.startsWith('aborted_') ? 'aborted' : status.startsWith('failed_') ? 'failed' : null;
  const isPlateWaiting = status.endsWith('wait_cleanup');
  if (ended && isPlateWaiting) return says(ended, 'ended', 'plate waits');
  if (ended) return { ...says(ended, 'ended'), isOnPrinter: !OVER.includes(serviceState) };
  if (isPlateWaiting) return { ...says('finishing', 'plate waits'), end: 'open' };
  const state = BY_COARSE_STATE.get(serviceState ?? '') ?? 'unknown';
  const isOver = OVER.includes(serviceState);
  // A new word is no reason to think that the printer is free.
  const isUnderWay = state === 'printing' || (state === 'unknown' && status !== '' && !isOver);
  const isOnPrinter = isUnderWay || status.endsWith('_post_print') || status.endsWith('_wait_user_action');
  return { state, end: isOver ? 'open' : null, isOnPrinter, isPlateWaiting };
}

/** Share of its time before which a stopped job counts as aborted (reference 3.3). */
const FINISHED_FROM = 0.95;

/**
 * State of a job. `elapsed`: share of its time, 0 to 1, null if unknown; it decides about a print that lies on the plate
 * and whose word does not say how it ended (wire facts, trap 20).
 */
export function stateOf(words: Words, elapsed: number | null): JobState {
  const { state, end, isPlateWaiting } = meaningOf(words);
  if (!isPlateWaiting || end !== 'open' || elapsed === null) return state;
  return elapsed >= FINISHED_FROM ? 'finished' : 'aborted';
}

/** Whether the meaning of a status word is known; the service has further ones. */
export const isKnownStatus = (status: string): boolean => BY_STATUS.has(status);

/** Whether the job has ended, and its word says how. */
export const isEndDecided = (words: Words): boolean => meaningOf(words).end === 'decided';

/** Whether the job has ended, although its word may not say how. */
export const isOver = (words: Words): boolean => meaningOf(words).end !== null;

/** Whether the service's coarse state says that the job has ended, whatever its status. */
export const isListedAsOver = ({ serviceState }: Words): boolean => OVER.includes(serviceState);

/** Whether the job is on its printer, from the first heating until the printer is free or asks for a clear plate. */
export const occupiesPrinter = (words: Words): boolean => meaningOf(words).isOnPrinter;

/** Whether the job has ended, and its print lies on the plate until a person takes it off. */
export const isPlateWaiting = (words: Words): boolean => meaningOf(words).isPlateWaiting;

/** Whether the job prints: it is past its preparation, and its end is not decided. */
export function isUnderWay(words: Words): boolean {
  const { state, end, isOnPrinter } = meaningOf(words);
  return isOnPrinter && end === null && state !== 'preparing';
}

/** Whether the job is being aborted: it shows the state of an end that is not decided yet. */
export function isAborting(words: Words): boolean {
  const { state, end } = meaningOf(words);
  return state === 'aborted' && end === null;
}

/** Whether the job waits for its plate in the one word that stands for two ends (reference 3.3). */
export const isEndUnnamed = ({ status }: Words): boolean => status === 'wait_cleanup';

/** Whether the word is one of the six that name the end of a print before its plate is cleared (reference 3.3). */
export function namesEnd({ status }: Words): boolean {
  const { end, isOnPrinter, isPlateWaiting } = BY_STATUS.get(status ?? '') ?? says('unknown');
  return end === 'decided' && (isOnPrinter || isPlateWaiting);
}
