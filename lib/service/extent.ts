import { amount, number } from './json-readers';

/** Extent of a print, mm. */
export interface Extent {
  x: number;
  y: number;
  z: number;
}

const AXES = ['x', 'y', 'z'] as const;

/** Extent between two corners, to the micrometre; null unless all six numbers are known. */
export function extentBetween(
  min: (axis: keyof Extent) => unknown,
  max: (axis: keyof Extent) => unknown,
): Extent | null {
  const extent = { x: 0, y: 0, z: 0 };
  for (const axis of AXES) {
    const [low, high] = [number(min(axis)), number(max(axis))];
    const length = low === null || high === null ? null : amount(high - low);
    if (length === null) return null;
    extent[axis] = Math.round(length * 1000) / 1000;
  }
  return extent;
}
