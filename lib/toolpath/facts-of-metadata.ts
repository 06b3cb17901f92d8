import { readMetadata } from '../service/file-types';
import { byExtruder, materialNeed, unlessBlank, type FileFacts } from './file-facts';

/** Facts in the `metadata` of a stored job's record (wire facts 4.1); null if it has none, or not yet. */
export function factsOfMetadata(wire: unknown): FileFacts | null {
  const metadata = readMetadata(wire);
  if (!metadata) return null;
  const { model, printCores, nozzles, materials, buildPlate, seconds, size } = metadata;
  const extruders = materials.map((material, extruder) => {
    const facts = {
      printCore: printCores[extruder] ?? null,
      material: material && materialNeed(material),
      volume: material?.volume ?? null,
      weight: material?.weight ?? null,
      nozzle: nozzles[extruder] ?? null,
    };
    return [extruder, facts] as const;
  });
  // Files of older slicers also list the extruders that they don't use.
  const used = new Map(extruders.filter(([, { volume }]) => volume !== 0));
  return unlessBlank({ source: 'service', model, ...byExtruder(used), buildPlate, seconds, size });
}
