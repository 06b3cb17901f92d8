import { phrase, type Sentence } from '../words/sentence';
import { PrintingError } from './errors';
import type { StoredKind } from './stored-file';

/** A row of the interface's "Supported file types". */
interface FileType {
  /** Lower case, with its dot. */
  extension: string;
  /** Content type in the upload request and of the bytes. */
  contentType: string;
  type: 'Toolpath' | 'Mesh' | 'Image' | 'Document';
}

const row = (extension: string, contentType: string, type: FileType['type']): FileType => ({
  extension,
  contentType,
  type,
});

/** Printable types, for the jobs upload endpoint. */
export const TOOLPATHS: readonly FileType[] = [
  row('.gcode', 'text/plain', 'Toolpath'),
  row('.gcode.gz', 'application/gzip', 'Toolpath'),
  row('.ufp', 'application/x-ufp', 'Toolpath'),
  // Not in the interface: some models accept nothing else (wire facts 4.1).
  row('.makerbot', 'application/x-makerbot', 'Toolpath'),
];

/** Types that can only be stored, for the files upload endpoint. */
export const PROJECT_FILES: readonly FileType[] = [
  row('.3mf', 'application/vnd.ms-package.3dmanufacturing-3dmodel+xml', 'Mesh'),
  row('.stl', 'model/stl', 'Mesh'),
  row('.jpg', 'image/jpeg', 'Image'),
  row('.jpeg', 'image/jpeg', 'Image'),
  row('.png', 'image/png', 'Image'),
  row('.pdf', 'application/pdf', 'Document'),
  row('.doc', 'application/msword', 'Document'),
  row('.docx', 'application/vnd.openxmlformats-officedocument.wordprocessingml.document', 'Document'),
  row('.xls', 'application/vnd.ms-excel', 'Document'),
  row('.xlsx', 'application/vnd.openxmlformats-officedocument.spreadsheetml.sheet', 'Document'),
  row('.ppt', 'application/vnd.ms-powerpoint', 'Document'),
  row('.pptx', 'application/vnd.openxmlformats-officedocument.presentationml.presentation', 'Document'),
  row('.txt', 'text/plain', 'Document'),
];

/** Models that users mistake for printable files; the service does not slice (interface, What the service does 8). */
const UNSLICED = ['.stl', '.3mf', '.obj', '.step', '.stp'];

/** The toolpath type of a file name, in any case. Undefined for anything else. */
export const findToolpath = (name: string): FileType | undefined => find(TOOLPATHS, name);

/** The extension and content type that an upload states for its file. */
type SentType = Pick<FileType, 'extension' | 'contentType'>;

/** The toolpath type of a file name, or the given media type in its place. Throws UNSUPPORTED_FILE_TYPE. */
export function toolpath(name: string, mediaType?: string): SentType {
  if (mediaType !== undefined) return { extension: fileExtension(name), contentType: mediaType };
  const found = findToolpath(name);
  if (found) return found;
  const allowed = inWords(TOOLPATHS);
  if (endsIn(name, '.gcode.3mf'))
    throw new PrintingError(
      'UNSUPPORTED_FILE_TYPE',
      phrase`"${name}" is a sliced project: export it as plain G-code instead (only ${allowed} files can be printed).`,
    );
  const sentence = UNSLICED.some((extension) => endsIn(name, extension))
    ? phrase`"${name}" is a model: slice it to G-code first (only ${allowed} files can be printed).`
    : phrase`"${name}" can't be printed: only ${allowed} files can, unless msg.mediaType gives the type.`;
  throw new PrintingError('UNSUPPORTED_FILE_TYPE', sentence);
}

/**
 * Whether a toolpath is compressed where that is wanted: plain G-code, and a file of any other ending that a message gives the
 * type of gzip, unless its ending says that it is compressed. Throws UNSUPPORTED_FILE_TYPE.
 */
export const isCompressible = (name: string, mediaType?: string): boolean =>
  toolpath(name, mediaType).extension === '.gcode' || (mediaType !== undefined && !endsIn(name, '.gz'));

const BY_KIND: Record<StoredKind, { types: readonly FileType[]; words: Sentence }> = {
  job: { types: TOOLPATHS, words: phrase`print job` },
  file: { types: PROJECT_FILES, words: phrase`project file` },
};

/**
 * The type of a file to store as `kind`, or the given media type in its place. Throws UNSUPPORTED_FILE_TYPE with the
 * kind that accepts it.
 */
export function storedType(kind: StoredKind, name: string, mediaType?: string): SentType {
  if (mediaType !== undefined) return { extension: fileExtension(name), contentType: mediaType };
  const own = BY_KIND[kind];
  const other = BY_KIND[kind === 'job' ? 'file' : 'job'];
  const found = find(own.types, name);
  if (found) return found;
  const takes = ({ types, words }: typeof own) => phrase`the kind "${words}" accepts ${inWords(types)} files`;
  const cure = find(other.types, name)
    ? phrase`choose the kind "${other.words}"; ${takes(own)}`
    : phrase`${takes(own)}, ${takes(other)}, and msg.mediaType gives any other type`;
  throw new PrintingError('UNSUPPORTED_FILE_TYPE', phrase`"${name}" can't be stored as a ${own.words}: ${cure}.`);
}

const find = (types: readonly FileType[], name: string) => types.find(({ extension }) => endsIn(name, extension));

/** Whether a name ends in an extension and has more than that: `.gcode` alone has no extension. */
export const endsIn = (name: string, extension: string): boolean =>
  name.length > extension.length && name.slice(-extension.length).toLowerCase() === extension;

/** The extension of a file name, in lower case and with its dot; blank without one. */
export const fileExtension = (name: string): string =>
  findToolpath(name)?.extension ?? /.(\.[^.\s]+)$/.exec(name)?.[1]?.toLowerCase() ?? '';

function inWords(types: readonly FileType[]): Sentence {
  const extensions = types.map(({ extension }) => extension);
  return phrase`${extensions.slice(0, -1).join(', ')} and ${extensions.at(-1) ?? ''}`;
}

/** A type and a subtype of RFC 6838, section 4.2, without parameters: the upload's header must equal it. */
const MEDIA_TYPE = /^[a-z\d][a-z\d!#$&^_.+-]{0,126}\/[a-z\d][a-z\d!#$&^_.+-]{0,126}$/;

/** Reads the media type that a message gives, in lower case; undefined for a blank one. Throws INVALID_INPUT. */
export function readMediaType(given: unknown): string | undefined {
  const words = typeof given === 'string' ? given.trim().toLowerCase() : given;
  if (words === undefined || words === null || words === '') return undefined;
  if (typeof words === 'string' && MEDIA_TYPE.test(words)) return words;
  throw new PrintingError('INVALID_INPUT', phrase`The media type must look like text/x-gcode: correct msg.mediaType.`);
}

/** Throws INVALID_INPUT for a file that is compressed on its way, but given another type than that of gzip. */
export function checkCompressedType(mediaType: string | undefined): void {
  if (mediaType === undefined || mediaType === 'application/gzip') return;
  throw new PrintingError(
    'INVALID_INPUT',
    phrase`A compressed file is application/gzip, but msg.mediaType is ${mediaType}: leave it out, or turn the compression off.`,
  );
}
