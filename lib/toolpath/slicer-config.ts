import { TOOLPATH } from '../rules/limits';
import { amount, text } from '../service/json-readers';
import { fieldsOf, secondsIn, textIn } from './comments';
import { byExtruder, materialNeed, unlessBlank, type FileFacts } from './file-facts';

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
