import { list, record, text } from '../../service/json-readers';
import type { Key } from '../../state/store';
import { type EndedPrint, PLATE_ROWS, type PlateGate, type PlateIds } from '../model/gate';
import { damagedGate } from '../model/gate-sights';
import { gateIdOf, isNil } from '../model/machine';
import {
  isCount,
  isFlag,
  isNewerThan,
  isText,
  isTime,
  listOf,
  oneOf,
  orMissing,
  orNull,
  shapeOf,
} from '../../service/shapes';

/** A stored gate. */
export interface StoredGate {
  gate: PlateGate;
  /** Its key, if it was stored by 1.0.0-rc.1, by cluster id and printer id. */
  oldKey: Key | null;
}

/** Whether a stored gate is one of a newer version, which is left alone. */
export const isNewer = (value: unknown): boolean => isNewerThan(2, value);

/**
 * Reads a stored gate; `words`: its key without kind and scope. A damaged one is replaced by a closed one, and one of a
 * newer version counts as closed.
 * @param now ms since 1970
 */
export function readGate(key: Key, words: readonly string[], value: unknown, now: number): StoredGate {
  const [first = '', second] = words;
  if (second === undefined) return { gate: gateOf(first, value, now), oldKey: null };
  return { gate: oldGate(first, second || null, value, now), oldKey: key };
}

/** Reads a gate under its id. */
export function gateOf(gateId: string, value: unknown, now: number): PlateGate {
  if (isGate(value) && value.gateId === gateId) return value;
  const { ownIds, hostGuid, clusterId, printerId } = record(value) ?? {};
  const words = list(ownIds).filter(isText);
  const ids: PlateIds = {
    gateId,
    ownIds: words.length > 0 || text(hostGuid) === gateId ? words : [gateId],
    hostGuid: text(hostGuid),
    clusterId: text(clusterId) ?? gateId,
    printerId: text(printerId),
  };
  // One of a newer version is left alone, so each start has to read the same.
  return damagedGate(ids, isNewer(value) ? 0 : now);
}

const isTextOrNull = orNull(isText);
const isTimeOrNull = orNull(isTime);

const isGate: (value: unknown) => value is PlateGate = shapeOf({
  version: oneOf(2),
  gateId: isText,
  ownIds: listOf(isText),
  hostGuid: isTextOrNull,
  clusterId: isText,
  printerId: isTextOrNull,
  clusterName: isTextOrNull,
  closings: isCount,
  replacesUpTo: orMissing(isCount),
  begun: isCount,
  printing: orNull(
    shapeOf({ id: isText, missingSince: isTimeOrNull, isUnlisted: isFlag, hasOthers: orMissing(isFlag) }),
  ),
  ended: orNull(
    shapeOf({
      id: isText,
      outcome: oneOf('finished', 'failed', 'aborted', 'unknown'),
      source: oneOf('job', 'vanished', 'status', 'settled', 'lost', 'damaged', 'earlier'),
      at: isTime,
      stage: oneOf('leaving', 'cleanup', 'idle'),
      hasShownCleanup: isFlag,
      hadShownCleanup: isFlag,
      hasGap: isFlag,
      clearedAt: isTimeOrNull,
    }),
  ),
  past: orMissing(
    listOf(
      shapeOf({
        number: isCount,
        row: oneOf(...PLATE_ROWS),
        at: isTime,
        clearedAt: isTimeOrNull,
        good: orNull(isFlag),
      }),
    ),
  ),
  hasShownCleanup: isFlag,
  known: listOf(isText),
  verdicts: listOf(shapeOf({ id: isText, good: isFlag, parts: orMissing(isCount), at: isTime })),
  isShared: orMissing(isFlag),
  isBlind: orMissing(isFlag),
  unread: orMissing(shapeOf({ clusterIds: listOf(isText), since: isTime, wasUnwatched: orMissing(isFlag) })),
}) as (value: unknown) => value is PlateGate;

/** The gate of 1.0.0-rc.1 of a printer, as one of its machine. */
function oldGate(clusterId: string, printerId: string | null, value: unknown, now: number): PlateGate {
  const old = record(value) ?? {};
  const ownId = printerId === null || isNil(printerId) ? null : printerId;
  const hostGuid = ownId === null ? text(old.hostGuid) : null;
  const gateId = gateIdOf({ ownId, hostGuid, clusterId });
  const ids: PlateIds = { gateId, ownIds: ownId === null ? [] : [ownId], hostGuid, clusterId, printerId };
  const gate = {
    version: 2,
    ...ids,
    clusterName: text(old.clusterName),
    ...{ closings: old.closings, begun: 0 },
    printing: old.printing === null ? null : { ...record(old.printing), isUnlisted: false },
    ended: old.ended === null ? null : oldEnd(record(old.ended) ?? {}),
    ...{ hasShownCleanup: old.hasShownCleanup, known: old.known, verdicts: old.verdicts },
  };
  return old.version === 1 && isGate(gate) ? gate : damagedGate(ids, now);
}

/** What 1.0.0-rc.1 knew of the last print. It did not record whether somebody watched without a gap. */
function oldEnd(ended: Readonly<Record<string, unknown>>): object {
  const { id, outcome, at, cleanup, hadShownCleanup, clearedAt } = ended;
  const source = outcome === 'vanished' || outcome === 'earlier' ? outcome : 'job';
  return {
    ...{ id, outcome: source === 'job' ? outcome : 'unknown', source, at },
    stage: (cleanup === 'seen' ? 'cleanup' : 'idle') satisfies EndedPrint['stage'],
    ...{ hasShownCleanup: cleanup !== 'unseen', hadShownCleanup, hasGap: cleanup !== 'over', clearedAt },
  };
}

/** The later one of two gates of 1.0.0-rc.1 that were of one machine, under two cluster ids. */
export function laterOf(one: PlateGate, other: PlateGate): PlateGate {
  if (one.closings !== other.closings) return one.closings > other.closings ? one : other;
  return (other.ended?.clearedAt ?? null) === null ? one : other;
}
