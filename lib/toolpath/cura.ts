import { amountIn, fieldsOf, lineAt, sizeIn, textIn } from './comments';
import { unlessBlank, type FileFacts } from './file-facts';

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
    seconds: amountIn(fields, 'TIME'),
    size: sizeIn(fields, (corner, axis) => `${corner}${axis}`),
  });
}
