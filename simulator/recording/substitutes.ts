import { createHmac, randomBytes } from 'node:crypto';

/** Kinds of replaced values, as shown at the end of a recording. */
export type Kind =
  | 'secrets'
  | 'ids'
  | 'names and texts'
  | 'network addresses'
  | 'signed addresses'
  | 'files'
  | 'pictures';

/** Fields whose words say what happened or what a printer is made of: they stay. */
const KEPT = new Set(
  (
    'status state status_detail display_status parsing_status firmware_update_status firmware_channel filter_status ' +
    'sent_from code task_codes http_status severity type ' +
    'type_of_change translation_key material brand color print_core_id print_core machine_variant machine_family ' +
    'compatible_machine_families printer_type printer_model content_type firmware_version latest_available_firmware ' +
    'host_version capabilities version flavor header_version report_type action token_type error frequency'
  ).split(' '),
);
/** Fields of which this holds in one kind of object alone; elsewhere people choose what they contain. */
const KEPT_IN = new Map([
  ['configuration_changes_required', ['origin_id', 'origin_name', 'target_id', 'target_name']],
  ['meta', ['error_type', 'record_name', 'field_name', 'model_name']],
  ['data', ['list', 'channel']],
]);
/** Objects that describe a material, whose GUID stays. */
const MATERIALS = new Set(['material', 'target_material', 'origin_material']);
const MATERIAL_IDS = new Set(['material_guid', 'material_profile_id']);
/** A short text of plain words, as opposed to a token or a sentence with a name. */
const WORDS = /^[\p{L}\p{N} _.:+/()-]{1,60}$/u;
const SECRET = /token|secret|password|signature|^code$|code_verifier|cookie/;
const UUID = /[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}/gi;
const NIL = /^[{]?[0-]{36}[}]?$/;
const DATE = /^\d{4}-\d\d-\d\d(?:[T ]\d\d:\d\d(?::\d\d(?:\.\d+)?)?(?:Z|[+-]\d\d:?\d\d)?)?$/;
const IPV4 = /^(?:\d{1,3}\.){3}\d{1,3}$/;
const HEX = /^(?:[0-9a-f]{20,}|[0-9a-f]{2}(?:[:-][0-9a-f]{2}){5}|(?=.*:.*:)[0-9a-f:]+)$/i;
const EXTENSION =
  /(?:\.(?:gcode|gz|ufp|makerbot|3mf|stl|obj|jpe?g|png|gif|webp|pdf|docx?|xlsx?|pptx?|txt|csv|x3d|amf))+$/i;
const FIELD = /^[a-z][a-z0-9_]{0,40}$/i;
/** A segment of a path that names a call. */
const CALL = /^(?:v\d{1,2}|[a-z][a-z_-]{0,24})$/;

/** Where an address points: one of the service's hosts, with the path below it, or a number of the storage. */
export interface Alias {
  host: 'auth' | 'api' | 'storage';
  path: string;
}

/**
 * Replaces what identifies a person, a workspace or a machine. Equal values have equal substitutes of the same length
 * and form throughout a recording; the key is forgotten with the process. A value that no rule knows is replaced.
 */
export class Substitutes {
  readonly #key = randomBytes(32);
  /** Substitutes of short values, by value. */
  readonly #given = new Map<string, string>();
  readonly #used = new Set<string>();
  readonly #ids = new Set<string>();
  readonly #seen = new Map<Kind, Set<string>>();

  /** `alias` finds the service's part of an address. */
  constructor(private readonly alias: (address: string) => Alias | undefined) {}

  /** Number of different values that were replaced, by kind. */
  get counts(): [Kind, number][] {
    return [...this.#seen].map(([kind, values]) => [kind, values.size]);
  }

  count(kind: Kind, value: string): void {
    const seen = this.#seen.get(kind) ?? new Set();
    this.#seen.set(kind, seen.add(this.#digest(value).toString('latin1', 0, 12)));
  }

  /** Replaces what JSON contains. */
  json(value: unknown, field = '', parent = ''): unknown {
    if (typeof value === 'string') return this.#text(value, field, parent);
    if (typeof value === 'number') return this.#number(value, field);
    if (Array.isArray(value)) return value.map((entry) => this.json(entry, field, parent));
    if (typeof value !== 'object' || value === null) return value;
    return Object.fromEntries(
      Object.entries(value).map(([name, entry]) => [this.#name(name), this.json(entry, name, field)]),
    );
  }

  /** Replaces ids and names in a path with its query. */
  path(path: string): string {
    const [way = '', query] = path.split('?', 2);
    const segments = way.split('/').map((segment) => {
      const plain = decoded(segment);
      if (plain === '' || (CALL.test(plain) && !this.#ids.has(plain))) return segment;
      return encodeURIComponent(this.replace(plain, 'ids'));
    });
    if (query === undefined || query === '') return segments.join('/');
    const kept = new URLSearchParams();
    for (const [name, value] of new URLSearchParams(query))
      kept.append(this.#name(name), /^\d{1,6}$/.test(value) ? value : this.#text(value, name, ''));
    return `${segments.join('/')}?${kept.toString()}`;
  }

  /** Returns the substitute of a value; empty texts and nil UUIDs stay. */
  replace(value: string, kind: Kind): string {
    if (value === '' || NIL.test(value)) return value;
    this.count(kind, value);
    if (value.length > 256) return this.#derive(value, 0);
    const given = this.#given.get(value);
    if (given !== undefined) return given;
    let made = value;
    for (let turn = 0; turn < 20 && (made === value || this.#used.has(made)); turn++) made = this.#derive(value, turn);
    this.#given.set(value, made);
    if (kind === 'ids') this.#ids.add(value);
    this.#used.add(made);
    return made;
  }

  #text(value: string, field: string, parent: string): string {
    if (DATE.test(value)) return value;
    if (SECRET.test(field) && !(field === 'code' && WORDS.test(value)) && field !== 'token_type')
      return this.replace(value, 'secrets');
    if (this.#stays(value, field, parent)) return value;
    if (/^https?:/i.test(value)) {
      const alias = this.alias(value);
      if (!alias) return this.replace(value, 'signed addresses');
      if (alias.host !== 'storage') return `{${alias.host}}${this.path(alias.path)}`;
      this.count('signed addresses', value);
      return `{storage}${alias.path}`;
    }
    if (IPV4.test(value) || (value.includes(':') && HEX.test(value))) return this.replace(value, 'network addresses');
    return this.replace(value, /(?:^|_)(?:u?uid|guid|ids?|uuids)$/.test(field) ? 'ids' : 'names and texts');
  }

  #stays(value: string, field: string, parent: string): boolean {
    const keptHere = KEPT_IN.get(parent)?.includes(field) === true;
    const ofMaterial =
      MATERIAL_IDS.has(field) ||
      (field === 'guid' && MATERIALS.has(parent)) ||
      (keptHere && /^(?:origin|target)_id$/.test(field));
    if (ofMaterial && /^[0-9a-f-]{36}$/i.test(value)) return true;
    return (keptHere || KEPT.has(field)) && WORDS.test(value) && !/[0-9a-f]{16,}|[0-9a-f]{8}-/i.test(value);
  }

  /** A number that identifies something keeps its digits' number. */
  #number(value: number, field: string): number {
    if (!/(?:^|_)id$/.test(field) || !Number.isSafeInteger(value) || value < 1000) return value;
    const made = this.replace(String(value), 'ids');
    return Number(made.startsWith('0') ? `1${made.slice(1)}` : made);
  }

  /** Names of fields stay; an id as a key of an object does not. */
  #name(name: string): string {
    return FIELD.test(name) && !this.#ids.has(name) ? name : this.replace(name, 'ids');
  }

  #digest(value: string): Buffer {
    return createHmac('sha256', this.#key).update(value).digest();
  }

  #derive(value: string, turn: number): string {
    const ids = value.match(UUID);
    // An id inside a text has the substitute that it has alone.
    if (ids && value.length > 38) {
      const rest = value.split(UUID);
      return rest.map((part, at) => this.#letters(part, turn) + (ids[at] ? this.replace(ids[at], 'ids') : '')).join('');
    }
    const extension = EXTENSION.exec(value)?.[0] ?? '';
    return this.#letters(value.slice(0, value.length - extension.length), turn) + extension;
  }

  /** Replaces each letter and digit by another of its kind. */
  #letters(value: string, turn: number): string {
    const digits = value.replaceAll(/[{}]/g, '');
    if (IPV4.test(value))
      return this.#fill(value, turn, (at, octet) => (at > 0 ? DIGITS : octet === 3 ? '1' : '123456789'));
    const hex = HEX.test(digits) || (digits.length === 36 && digits.search(UUID) === 0);
    return this.#fill(value, turn, () => (hex ? 'hex' : 'any'));
  }

  #fill(value: string, turn: number, choose: (at: number, run: number) => string): string {
    let block = 0;
    let bytes: Buffer = Buffer.alloc(0);
    const next = (letters: string): string => {
      if (bytes.length === 0) bytes = this.#digest(`${turn}/${block++}/${value}`);
      const letter = letters[bytes[0]! % letters.length]!;
      bytes = bytes.subarray(1);
      return letter;
    };
    return value.replaceAll(/[\p{L}\p{N}]+/gu, (run) =>
      // By code units, so that the length stays.
      Array.from({ length: run.length }, (_, at) => {
        const unit = run[at]!;
        const choice = choose(at, run.length);
        if (choice !== 'hex' && choice !== 'any') return next(choice);
        if (/\d/.test(unit)) return next(choice === 'hex' ? '0123456789' : DIGITS);
        if (choice === 'hex') return next(unit === unit.toUpperCase() ? 'ABCDEF' : 'abcdef');
        return next(unit === unit.toUpperCase() && unit !== unit.toLowerCase() ? UPPER : LOWER);
      }).join(''),
    );
  }
}

const DIGITS = '0123456789';
const LOWER = 'abcdefghijklmnopqrstuvwxyz';
const UPPER = LOWER.toUpperCase();

function decoded(segment: string): string {
  try {
    return decodeURIComponent(segment);
  } catch {
    return segment;
  }
}
