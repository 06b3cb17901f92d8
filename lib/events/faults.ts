import type { Fault, FaultLists, ListedFault } from '../service/printer';
import type { PrinterCheckpoint } from './checkpoint';

/** The faults of a printer that were seen, each by its key: the `uuid`, or the code of one without. */
type KnownFaults = Pick<PrinterCheckpoint, 'faults' | 'errors' | 'codes'>;

/**
 * Returns the faults of a printer after an observation, and those that are new, by key. An answer may lack the `uuid` of a
 * fault: without it, a fault is one of the same code that was known, and each known one is found once at most.
 */
export function followFaults(
  before: KnownFaults | undefined,
  lists: FaultLists,
): { known: KnownFaults; appeared: ReadonlyMap<string, Fault> } {
  const matching = new Matching(before?.codes);
  const { faults: knownFaults = [], errors: knownErrors = [] } = before ?? {};
  // Both lists may show the same fault, and one of them without its uuid.
  const found = lists.faults ? matching.find(lists.faults, [...knownFaults, ...knownErrors]) : knownFaults;
  const others = lists.errors ? matching.find(lists.errors, [...knownErrors, ...knownFaults, ...found]) : knownErrors;
  const [faults, errors] = [matching.latest(found), matching.latest(others)];
  const codes = matching.codesOf([...faults, ...errors]);
  return { known: { faults, errors, ...(codes && { codes }) }, appeared: matching.appeared };
}

/** Finds the faults of one observation among known ones. */
class Matching {
  /** The faults that are none of the known ones, by key. */
  readonly appeared = new Map<string, Fault>();
  readonly #codes: Map<string, string>;
  /** Present keys of faults that were known by their code alone. */
  readonly #renamed = new Map<string, string>();

  constructor(codes: Readonly<Record<string, string>> = {}) {
    this.#codes = new Map(Object.entries(codes));
  }

  /** Returns the keys of the faults in a list. */
  find(listed: readonly ListedFault[], candidates: readonly string[]): string[] {
    const free = new Set(this.latest(candidates));
    // Those whose keys are known come first, so that no other one takes their place.
    const exact = new Set(listed.filter((one) => free.delete(keyOf(one))));
    const keys = new Set([...exact].map(keyOf));
    for (const one of listed) {
      const { uuid, fault } = one;
      if (uuid !== null && fault.code !== null) this.#codes.set(uuid, fault.code);
      if (exact.has(one)) continue;
      const key = keyOf(one);
      const same = [...free].find((known) => fault.code === (uuid === null ? this.#codes.get(known) : known));
      if (same !== undefined) free.delete(same);
      // An answer without uuids may list one fault several times.
      else if (!keys.has(key)) this.appeared.set(key, fault);
      if (same !== undefined && uuid !== null) this.#renamed.set(same, uuid);
      keys.add(uuid ?? same ?? key);
    }
    return [...keys];
  }

  latest(keys: readonly string[]): string[] {
    return [...new Set(keys.map((key) => this.#renamed.get(key) ?? key))];
  }

  /** The codes to store; undefined without any. */
  codesOf(keys: readonly string[]): Record<string, string> | undefined {
    const known = new Set(keys);
    const codes = [...this.#codes].filter(([key]) => known.has(key));
    return codes.length > 0 ? Object.fromEntries(codes) : undefined;
  }
}

const keyOf = ({ uuid, fault }: ListedFault): string => uuid ?? fault.code ?? '';
