import { TOOLPATH } from '../rules/limits';
import { amountIn, fieldsOf, lineAt, sizeIn, textIn } from './comments';
import { byExtruder, materialNeed, unlessBlank, type FileFacts } from './file-facts';

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
    seconds: amountIn(fields, 'PRINT.TIME') ?? amountIn(fields, 'TIME'),
    size: sizeIn(fields, (corner, axis) => `PRINT.SIZE.${corner}.${axis}`),
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
      material: materialNeed({ guid: textIn(fields, key('MATERIAL.GUID')) }),
      volume: amountIn(fields, key('MATERIAL.VOLUME_USED')),
      weight: null,
      nozzle: amountIn(fields, key('NOZZLE.DIAMETER')),
    };
    return [extruder, facts] as const;
  });
  // Older slicers also list the extruders that they don't use.
  return new Map(extruders.filter(([, { volume }]) => volume !== 0));
}
