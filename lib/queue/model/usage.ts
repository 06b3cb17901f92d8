import type { Feed, Source } from '../../service/feeds';
import type { FileFacts, MaterialNeed } from '../../toolpath/facts';
import type { Attempt, ItemRecord, UsedMaterial } from './types';

/** Material that an ended print used up: the record of it, or else all that its file needs, if it finished. */
export const usedOf = ({ files }: Pick<ItemRecord, 'files'>, { used, state, file }: Attempt): readonly UsedMaterial[] =>
  used ?? (state === 'finished' || state === 'rejected' ? wholeOf(files[file]?.facts ?? null) : []);

/** Material that a print uses up by its file alone. */
const wholeOf = (facts: FileFacts | null): UsedMaterial[] => usedBy(facts, null, 1, false);

/** The part of it to be recorded; undefined: no more than its file says. */
export const recordedUse = (
  { files }: Pick<ItemRecord, 'files'>,
  file: number,
  used: readonly UsedMaterial[],
): readonly UsedMaterial[] | undefined =>
  used.length === 0 || JSON.stringify(used) === JSON.stringify(wholeOf(files[file]?.facts ?? null)) ? undefined : used;

/**
 * Material that a print used up, by extruder.
 * @param facts what its file needed
 * @param feeds what its printer can be fed; null: not known
 * @param share how much of the file was printed, from 0 to 1, for a print that did not finish; null: not known
 * @param isEstimated whether it did not finish
 */
export function usedBy(
  facts: FileFacts | null,
  feeds: readonly Feed[] | null,
  share: number | null,
  isEstimated: boolean,
): UsedMaterial[] {
  const { materials = [], volumes = [], weights = [] } = facts ?? {};
  const part = (amount: number | null | undefined) =>
    share === null || typeof amount !== 'number' ? null : Math.round(amount * share * 100) / 100;
  return Array.from({ length: Math.max(materials.length, volumes.length, weights.length) }, (_, extruder) => extruder)
    .filter((at) => (volumes[at] ?? weights[at] ?? 0) > 0 || (materials[at] ?? null) !== null)
    .map((extruder) => {
      const need = materials[extruder] ?? null;
      const source = sourceOf(feeds?.[extruder], need);
      return {
        extruder,
        slot: source?.slot ?? null,
        guid: need?.guid ?? source?.material?.guid ?? null,
        volume: part(volumes[extruder]),
        weight: part(weights[extruder]),
        estimated: isEstimated,
      };
    });
}

/** The one place from which a print can have been fed; null: none, or one of several. */
function sourceOf(feed: Feed | undefined, need: MaterialNeed | null): Source | null {
  const guid = need?.guid?.toLowerCase();
  const fitting = (feed?.sources ?? []).filter(({ material }) => !guid || material?.guid?.toLowerCase() === guid);
  // A station loads the extruder from one of its slots, and shows both.
  const slots = fitting.filter(({ slot }) => slot !== null);
  const found = slots.length > 0 ? slots : fitting;
  return found.length === 1 ? (found[0] as Source) : null;
}
