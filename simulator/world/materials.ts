import { uuidOf } from './ids';
import { DENSITIES } from './spools';
import type { Material } from './state';

export const COLORS = ['Silver', 'Black', 'Red', 'White', 'Green'];

/** Creates a material, by default silver PLA. The same brand, type and colour always have the same GUID. */
export function newMaterial(about: Partial<Material> = {}): Material {
  const { brand = 'Generic', color = 'Silver', material = 'PLA' } = about;
  return { guid: about.guid ?? uuidOf(`material ${brand} ${material} ${color}`), brand, color, material };
}

/** The materials that the service knows, by their GUIDs. */
const KNOWN = new Map(
  Object.keys(DENSITIES)
    .flatMap((material) => COLORS.map((color) => newMaterial({ material, color })))
    .map((material) => [material.guid, material]),
);

/** Returns the material with this GUID; one that the service doesn't know has a name of its own. */
export const materialOf = (guid: string): Material => KNOWN.get(guid) ?? newMaterial({ guid, brand: 'Custom' });

export const materialName = ({ brand, material, color }: Material): string => `${brand} ${material} ${color}`;
