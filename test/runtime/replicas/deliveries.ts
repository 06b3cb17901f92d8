import type { Evidence, Hazard, HazardKind, ReplicaDiaryLine } from './evidence';

/** Time between an answer and its write, ms: no client can survive a crash in between. */
const WINDOW = 1_500;
/** Longest time between two tries to write a value, or to renew the sign-in, ms. */
export const RETRIED = 5_000;

export interface Rule {
  name: string;
  /** Open work: conditions that must still become true. */
  open?(seen: Evidence): string[];
  /** Breaches of the rule. */
  broken(seen: Evidence): string[];
  /** Unavoidable breaches. */
  excused?(seen: Evidence): string[];
}

export const KILLS: readonly HazardKind[] = ['kill', 'renewal', 'clock', 'dispatch'];
/** Hazards that break a lease of a running replica. */
export const BREAKS: readonly HazardKind[] = ['cut', 'outage', 'half-open', 'unlisted', 'failover', 'dispatch'];
/** Hazards after which a replica can't save what it did last. */
const CUTS_OFF: readonly HazardKind[] = [...KILLS, ...BREAKS, 'pause'];

export const hits = ({ replica }: Hazard, whom: number): boolean => replica === whom || replica === 0;

/** Whether a hazard hit the replica before it could save its work of `at`. */
export function isCutOff({ hazards }: Evidence, replica: number, at: number): boolean {
  // A full database refuses to save it.
  const refused = hazards.filter(({ kind, from, to }) => kind === 'full' && from < at + WINDOW && at < to);
  const savedBy = Math.max(at, ...refused.map(({ to }) => to + RETRIED)) + WINDOW;
  return hazards.some(
    (hazard) =>
      CUTS_OFF.includes(hazard.kind) && hits(hazard, replica) && hazard.from > at - WINDOW && hazard.from < savedBy,
  );
}

/** Repeated deliveries. One is excused if it has the same id and the first sender could not save its delivery. */
export function repeats(
  seen: Evidence,
  list: { what: string; told: ReplicaDiaryLine[] }[],
): { sentence: string; isExcused: boolean }[] {
  return list.flatMap(({ what, told }) =>
    told.slice(1).map((again, at) => {
      const before = told[at] as ReplicaDiaryLine;
      const after = `${((again.at - before.at) / 1000).toFixed(1)} s`;
      return {
        sentence: `${what} was told by ${before.replica}, and ${after} later by ${again.replica} (${again.at})`,
        isExcused: again.id === before.id && isCutOff(seen, before.replica, before.at),
      };
    }),
  );
}

export const sentences = (list: { sentence: string; isExcused: boolean }[], isExcused: boolean): string[] =>
  list.filter((one) => one.isExcused === isExcused).map(({ sentence }) => sentence);
