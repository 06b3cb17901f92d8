/** Fields of a file's header by name, such as `TARGET_MACHINE.NAME`; `broken` if the header has mistakes. */
export type ToolpathHeader = Record<string, string> | 'broken';

const LINE = /^;([A-Z0-9_.]+):(.*)$/;
const NUMERIC = /\.(VOLUME_USED|DIAMETER|TIME|[XYZ]|\w*TEMPERATURE)$/;
const CURA = /^;(FLAVOR|TARGET_MACHINE\.NAME|(?:MIN|MAX)[XYZ]):(.{1,200})$/gm;

/**
 * Reads the header of a toolpath: that of a Griffin file, which must be without mistakes, or Cura's comments in another
 * file; null without either. `text` may consist of the file's head and tail.
 */
export function toolpathHeader(text: string): ToolpathHeader | null {
  if (text.startsWith(';START_OF_HEADER')) return griffin(text.split(/\r?\n/, 2000));
  const header: Record<string, string> = {};
  for (const [, name, value] of text.matchAll(CURA)) {
    const corner = /^(MIN|MAX)([XYZ])$/.exec(name!);
    header[corner ? `PRINT.SIZE.${corner[1]!}.${corner[2]!}` : name!] ??= value!.trim();
  }
  return header.FLAVOR === undefined ? null : header;
}

function griffin([, ...lines]: string[]): ToolpathHeader {
  const header: Record<string, string> = {};
  for (const line of lines) {
    if (line === ';END_OF_HEADER') return header;
    const [, name, value] = LINE.exec(line) ?? [];
    if (name === undefined || Object.hasOwn(header, name)) return 'broken';
    if (NUMERIC.test(name) && !/^-?\d+(\.\d+)?$/.test(value!)) return 'broken';
    if (name === 'FLAVOR' && !['Griffin', 'Cheetah'].includes(value!)) return 'broken';
    header[name] = value!;
  }
  return 'broken';
}
