import { PrintingError } from './errors';
import { findToolpath, toolpath } from './file-types';
import { phrase, type Sentence } from '../words/sentence';

const SHORTEST = 3;
const LONGEST = 255;
/** Device names; `con.gcode` is still the device. */
const DEVICE = /^(con|prn|aux|nul|com[1-9]|lpt[1-9])(\.|$)/i;
const FORBIDDEN = /[\\/:*?"<>|]/;
// oxlint-disable-next-line no-control-regex -- matches exactly those
const CONTROL = /[\u0000-\u001f\u007f]/;

/**
 * The name of a stored toolpath: `wanted`, or the file's own if that is blank; always with the extension of the sent
 * file (reference 3.4). Throws INVALID_INPUT for a name that the service would reject (wire facts 4.1) and for one
 * whose extension contradicts the file's, UNSUPPORTED_FILE_TYPE for a file that is not a toolpath.
 */
export function jobName(wanted: string | undefined, fileName: string, compress: boolean): string {
  const name = wanted?.trim() ? wanted : fileName;
  const own = toolpath(fileName).extension;
  const sent = compress && own === '.gcode' ? '.gcode.gz' : own;
  const given = findToolpath(name)?.extension;
  const full = given === sent ? name : given === undefined ? name + sent : given === own ? `${name}.gz` : null;
  if (full === null)
    throw refusal(
      phrase`The job name "${name}" ends in ${given ?? ''} but the file is sent as ${sent}: leave out the extension.`,
    );
  const reason = brokenRule(full);
  if (reason) throw refusal(phrase`The job name ${reason}: set another job name.`);
  return full;
}

/** Applies the same rules to the name of any other stored file. Throws INVALID_INPUT. */
export function checkFileName(name: string): void {
  const reason = brokenRule(name);
  if (reason) throw refusal(phrase`The file name ${reason}: give the file another name.`);
}

function brokenRule(name: string): Sentence | null {
  // Counts code points rather than UTF-16 units; a name beyond twice the limit needs no exact count.
  const length = name.length > 2 * LONGEST ? name.length : [...name].length;
  if (length < SHORTEST || length > LONGEST)
    return phrase`has ${length} characters and may have ${SHORTEST} to ${LONGEST}`;
  const quoted = JSON.stringify(name);
  if (/^\s/.test(name)) return phrase`${quoted} starts with a space`;
  if (name.startsWith('..')) return phrase`${quoted} starts with two dots`;
  if (FORBIDDEN.test(name)) return phrase`${quoted} contains one of \\ / : * ? " < > |`;
  if (CONTROL.test(name)) return phrase`${quoted} contains a control character`;
  if (DEVICE.test(name)) return phrase`${quoted} is a reserved device name`;
  return null;
}

const refusal = (sentence: Sentence) => new PrintingError('INVALID_INPUT', sentence);
