import type { PrintTarget } from './state';

const GRIFFIN = /^;(TARGET_MACHINE\.NAME|BUILD_PLATE\.TYPE):(.{1,64})$/gm;

/**
 * Returns the printer that a toolpath is for, by its Griffin header. `text` may consist of the file's head and tail.
 */
export function printTarget(text: string): PrintTarget {
  const fields = new Map([...text.matchAll(GRIFFIN)].map(([, field, value]) => [field, value!.trim()]));
  return {
    machine: fields.get('TARGET_MACHINE.NAME') || null,
    buildPlate: fields.get('BUILD_PLATE.TYPE') || null,
  };
}
