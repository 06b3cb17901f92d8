import { TEXT, TOOLPATH } from '../rules/limits';
import { amount, extentBetween, estimate, text } from '../service/json-readers';
import { guidOf } from '../service/material';
import { byExtruder, type FileFacts, materialNeed, unlessBlank } from './facts';

/** Readers of the comments of slicers. Text is that of a file's head or tail, and may contain anything. */

/** Position of the first line that begins with `start`, at or after `from`; -1 without one. */
export function lineAt(words: string, start: string, from = 0): number {
  if (words.startsWith(start, from)) return from;
  const at = words.indexOf(`\n${start}`, from);
  return at < 0 ? -1 : at + 1;
}

/** Position of the last line that begins with `start`; -1 without one. */
export function lastLineAt(words: string, start: string): number {
  const at = words.lastIndexOf(`\n${start}`);
  if (at >= 0) return at + 1;
  return words.startsWith(start) ? 0 : -1;
}

/**
 * Values by key of the comments in `words`, which have the form `;key<separator>value`. The first of several counts.
 * Skips lines that are too long, and stops after TOOLPATH.lines.
 */
export function fieldsOf(words: string, separator: string): Map<string, string> {
  const fields = new Map<string, string>();
  for (let [at, lines] = [0, 0]; at < words.length && lines < TOOLPATH.lines; lines++) {
    const next = words.indexOf('\n', at);
    const end = next < 0 ? words.length : next;
    if (words.startsWith(';', at) && end - at <= TEXT.matched) {
      const comment = words.slice(at + 1, end);
      const split = comment.indexOf(separator);
      const key = split < 0 ? '' : comment.slice(0, split).trim();
      if (key !== '' && !fields.has(key)) fields.set(key, comment.slice(split + separator.length).trim());
    }
    at = end + 1;
  }
  return fields;
}

/** The text of a field; null if it is missing or blank. */
export const textIn = (fields: ReadonlyMap<string, string>, key: string): string | null => text(fields.get(key));

/** The amount in a field; null if it is missing or no amount. */
export const amountIn = (fields: ReadonlyMap<string, string>, key: string): number | null => amount(fields.get(key));

/** Duration that CuraEngine writes before it knows any, s. */
const NOT_YET = 6666;

/** The duration in a field, s; null for none, and for those that a slicer writes before it knows any. */
function durationIn(fields: ReadonlyMap<string, string>, key: string): number | null {
  const seconds = estimate(fields.get(key));
  return seconds === NOT_YET ? null : seconds;
}

/** The time that the last layer of Cura's G-code ends at, s; null without one. */
export function elapsedIn(tail: string): number | null {
  const start = lastLineAt(tail, ELAPSED);
  if (start < 0) return null;
  const end = tail.indexOf('\n', start);
  return estimate(
    text(
      tail
        .slice(start + ELAPSED.length, end < 0 ? undefined : end)
        .slice(0, TEXT.matched)
        .trim(),
    ),
  );
}

const ELAPSED = ';TIME_ELAPSED:';

/** The size; null for the cube of 10 mm that CuraEngine writes before it knows any. */
const known = (size: FileFacts['size']): FileFacts['size'] =>
  size?.x === 10 && size.y === 10 && size.z === 10 ? null : size;

/** Extent of the print, by the keys of its corners; null unless all six are known. */
export const sizeIn = (
  fields: ReadonlyMap<string, string>,
  keyOf: (corner: 'MIN' | 'MAX', axis: string) => string,
): FileFacts['size'] =>
  extentBetween(
    (axis) => fields.get(keyOf('MIN', axis.toUpperCase())),
    (axis) => fields.get(keyOf('MAX', axis.toUpperCase())),
  );

const SECONDS = { d: 86_400, h: 3600, m: 60, s: 1 } as const;

/** Seconds of a duration such as `1d 2h 3m 4s`; null for anything else. */
export function secondsIn(duration: string | null | undefined): number | null {
  if (!duration || duration.length > 64 || !/^(\d+(\.\d+)?[dhms] ?)+$/.test(duration)) return null;
  let seconds = 0;
  for (const [, count, unit] of duration.matchAll(/([\d.]+)([dhms])/g))
    seconds += Number(count) * SECONDS[unit as keyof typeof SECONDS];
  return estimate(seconds);
}

type Fields = ReadonlyMap<string, string>;

/** Facts of the file outside the slicer's configuration. */
interface Usage {
  /** Estimated duration, s. */
  seconds: number | null;
  /** The extruders that it uses, from 0; null: unknown. */
  used: ReadonlySet<number> | null;
}

/**
 * Facts of a configuration that PrusaSlicer or one of its descendants wrote from `start` to `end`. What the print
 * consumes stands right before it.
 */
export function configFacts(
  words: string,
  [start, end]: readonly [number, number],
  usage: Partial<Usage>,
): FileFacts | null {
  const config = fieldsOf(words.slice(start, end), ' = ');
  const figures = fieldsOf(words.slice(Math.max(0, start - TOOLPATH.before), start), ' = ');
  return unlessBlank({
    source: 'file',
    model: textIn(config, 'printer_model'),
    ...byExtruder(configuredExtruders(config, figures, usage.used ?? null)),
    buildPlate: null,
    seconds: usage.seconds ?? secondsIn(figures.get('estimated printing time (normal mode)')),
    size: null,
  });
}

function configuredExtruders(config: Fields, figures: Fields, listed: ReadonlySet<number> | null) {
  const types = listIn(config, 'filament_type', ';');
  const colors = listIn(config, 'filament_colour', ';');
  const nozzles = listIn(config, 'nozzle_diameter', ',').map(amount);
  const weights = listIn(figures, 'filament used [g]', ',').map(amount);
  const volumes = listIn(figures, 'filament used [cm3]', ',').map((volume) => cubicMillimetres(amount(volume)));
  const used = listed ?? consumers(weights, volumes);
  const length = Math.max(types.length, colors.length, weights.length, volumes.length);
  const extruders = Array.from({ length: Math.min(length, TOOLPATH.extruders) }, (_, extruder) => {
    const facts = {
      printCore: null,
      material: materialNeed({ type: types[extruder] ?? null, color: colors[extruder] ?? null }),
      volume: volumes[extruder] ?? null,
      weight: weights[extruder] ?? null,
      nozzle: nozzles[extruder] ?? null,
    };
    return [extruder, facts] as const;
  });
  return new Map(extruders.filter(([extruder]) => used === null || used.has(extruder)));
}

/** Extruders that consume something; null if no figure says so. */
function consumers(...figures: readonly (number | null)[][]): Set<number> | null {
  const found = new Set<number>();
  for (const list of figures)
    for (const [extruder, value] of list.entries()) if (value !== null && value > 0) found.add(extruder);
  return found.size > 0 ? found : null;
}

const cubicMillimetres = (cubicCentimetres: number | null): number | null =>
  cubicCentimetres === null ? null : Math.round(cubicCentimetres * 1000);

/** The entries of a list, without the quotes of some; null for a blank one. */
const listIn = (fields: Fields, key: string, separator: string): (string | null)[] =>
  (fields.get(key) ?? '').split(separator, TOOLPATH.extruders).map((entry) => text(entry.replaceAll('"', '').trim()));

const NAMES = ['prusaslicer', 'SuperSlicer', 'slic3r'];

/** Facts of the configuration that PrusaSlicer and its relatives append to a file; null without one. */
export function prusaFacts(tail: string): FileFacts | null {
  for (const name of NAMES) {
    const start = lastLineAt(tail, `; ${name}_config = begin`);
    if (start < 0) continue;
    const end = lineAt(tail, `; ${name}_config = end`, start);
    return configFacts(tail, [start, end < 0 ? tail.length : end], {});
  }
  return null;
}

/** Facts of Cura's comments in a file of another flavour than Griffin; null without them. */
export function curaFacts(head: string): FileFacts | null {
  const start = lineAt(head, ';FLAVOR:');
  if (start < 0) return null;
  const fields = fieldsOf(head.slice(start), ':');
  // A part of their header would lack extruders.
  if (/^(griffin|cheetah)$/i.test(fields.get('FLAVOR') ?? '')) return null;
  return unlessBlank({
    source: 'file',
    model: textIn(fields, 'TARGET_MACHINE.NAME'),
    printCores: [],
    materials: [],
    volumes: [],
    weights: [],
    buildPlate: null,
    seconds: durationIn(fields, 'TIME'),
    size: sizeIn(fields, (corner, axis) => `${corner}${axis}`),
  });
}

/** Facts of the blocks that OrcaSlicer and its relatives write to the head or the tail; null without a configuration. */
export function orcaFacts(head: string, tail: string): FileFacts | null {
  const usage = usageIn(head);
  for (const words of [head, tail]) {
    const start = lastLineAt(words, '; CONFIG_BLOCK_START');
    if (start < 0) continue;
    const end = lineAt(words, '; CONFIG_BLOCK_END', start);
    return configFacts(words, [start, end < 0 ? words.length : end], usage);
  }
  return null;
}

/** Duration and used extruders in the header block. */
function usageIn(head: string) {
  const start = lineAt(head, '; HEADER_BLOCK_START');
  const end = start < 0 ? -1 : lineAt(head, '; HEADER_BLOCK_END', start);
  if (end < 0) return {};
  // One line may hold two durations.
  const block = head.slice(start, Math.min(end, start + TOOLPATH.before)).replaceAll('; total', '\n; total');
  const fields = fieldsOf(block, ':');
  // Counted from 1.
  const used = (fields.get('filament') ?? '')
    .split(',')
    .flatMap((number) => (/^\d+$/.test(number) ? Number(number) - 1 : []));
  return { seconds: secondsIn(fields.get('total estimated time')), used: used.length > 0 ? new Set(used) : null };
}

const EXTRUDER = /^EXTRUDER_TRAIN\.(\d{1,2})\./;

/** Facts of a Griffin or Cheetah header; null without a complete one. */
export function griffinFacts(head: string): FileFacts | null {
  const start = lineAt(head, ';START_OF_HEADER');
  const end = start < 0 ? -1 : lineAt(head, ';END_OF_HEADER', start);
  if (end < 0) return null;
  const fields = fieldsOf(head.slice(start, end), ':');
  return unlessBlank({
    source: 'file',
    model: textIn(fields, 'TARGET_MACHINE.NAME'),
    ...byExtruder(griffinExtruders(fields)),
    buildPlate: textIn(fields, 'BUILD_PLATE.TYPE'),
    seconds: durationIn(fields, 'PRINT.TIME') ?? durationIn(fields, 'TIME'),
    size: known(sizeIn(fields, (corner, axis) => `PRINT.SIZE.${corner}.${axis}`)),
  });
}

function griffinExtruders(fields: ReadonlyMap<string, string>) {
  const numbers = new Set<number>();
  for (const key of fields.keys()) {
    const extruder = Number(EXTRUDER.exec(key)?.[1] ?? NaN);
    if (extruder < TOOLPATH.extruders) numbers.add(extruder);
  }
  const extruders = [...numbers].map((extruder) => {
    const key = (name: string) => `EXTRUDER_TRAIN.${extruder}.${name}`;
    const facts = {
      printCore: textIn(fields, key('NOZZLE.NAME')),
      material: materialNeed({ guid: guidOf(fields.get(key('MATERIAL.GUID'))) }),
      volume: amountIn(fields, key('MATERIAL.VOLUME_USED')),
      weight: null,
      nozzle: amountIn(fields, key('NOZZLE.DIAMETER')),
    };
    return [extruder, facts] as const;
  });
  return new Map(extruders);
}
