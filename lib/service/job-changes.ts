import { phrase, type Sentence } from '../words/sentence';
import type { ChangeRequired } from './print-job';

/** Describes the change as an instruction for the person at the printer; extruders are counted from 1. */
export function describeChange({ type, index, originName, targetName }: ChangeRequired): Sentence {
  const extruder = index === null ? null : index + 1;
  switch (type) {
    case 'material_change':
    case 'material_insert':
      if (extruder === null) break;
      if (targetName === null) return phrase`Change the material of extruder ${extruder}.`;
      if (originName === null) return phrase`Load ${targetName} in extruder ${extruder}.`;
      return phrase`Load ${targetName} instead of ${originName} in extruder ${extruder}.`;
    case 'print_core_change':
      if (extruder === null) break;
      if (targetName === null) return phrase`Change the print core of extruder ${extruder}.`;
      if (originName === null) return phrase`Insert print core ${targetName} in extruder ${extruder}.`;
      return phrase`Insert print core ${targetName} instead of ${originName} in extruder ${extruder}.`;
    case 'buildplate_change':
      if (targetName === null) return phrase`Change the build plate.`;
      if (originName === null) return phrase`Insert the build plate ${targetName}.`;
      return phrase`Insert the build plate ${targetName} instead of ${originName}.`;
    default:
  }
  return type === null
    ? phrase`The print requires a change at the printer.`
    : phrase`The print requires a change: ${type}.`;
}
