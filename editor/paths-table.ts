import { OVERRIDABLE, OVERRIDABLE_CALLS, readPathOverrides, type Overridable } from '../lib/rules/paths';
import { text } from './texts';
import { pathReason } from './validators';

export interface PathsTable {
  /** Fills in the row of a call; false if there are no rows, since the saved value is malformed. */
  set: (name: string, call: string) => boolean;
}

/**
 * Edits the account's `paths` in a table with one row per call. A malformed value, for example from an imported flow,
 * stays visible as text until it is valid. Values are only ever set as the value of a field.
 */
export function pathsTable(saved: unknown): PathsTable {
  const field = $('#node-config-input-paths');
  const table = $('#remote-printing-paths');
  const rows = new Map(OVERRIDABLE.map((name) => [name as string, row(name)]));
  // The runtime accepts an object, too; the field would show "[object Object]".
  if (typeof saved === 'object' && saved !== null) field.val(JSON.stringify(saved));

  function row(name: Overridable): JQuery {
    const { call, sure } = OVERRIDABLE_CALLS[name];
    const id = `remote-printing-path-${name}`;
    const described = { 'aria-describedby': `${id}-default` };
    const input = $('<input>', { type: 'text', id, title: call, spellcheck: 'false', ...described });
    // Not a placeholder: most calls are longer than the field.
    const shown = $('<span>', { id: `${id}-default`, class: 'remote-printing-call', text: call });
    const label = $('<label>', { for: id, text: `${text(`path.name.${name}`)} ` }).append($('<code>', { text: name }));
    const cell = $('<th>', { scope: 'row' }).append(label, shown, input);
    const known = $('<td>', { text: text(`path.known.${sure}`) });
    table.children('tbody').append($('<tr>').append(cell, known));
    return input.on('input change', () => {
      validate(name, input);
      save();
    });
  }

  const typed = (input: JQuery) => String(input.val()).trim();

  function validate(name: string, input: JQuery): void {
    const read = typed(input) === '' ? undefined : readPathOverrides({ [name]: typed(input) });
    const reason = read && 'fault' in read ? pathReason(read.fault) : undefined;
    input.toggleClass('input-error', reason !== undefined).attr('aria-invalid', String(reason !== undefined));
    input.attr('title', reason ?? OVERRIDABLE_CALLS[name as Overridable].call);
  }

  function save(): void {
    const filled = [...rows].map(([name, input]) => [name, typed(input)] as const).filter(([, call]) => call !== '');
    field.val(JSON.stringify(Object.fromEntries(filled))).trigger('change');
  }

  function show(): void {
    const calls = callsIn(String(field.val()));
    field.toggle(calls === null);
    table.add('#remote-printing-paths-tip').toggle(calls !== null);
    for (const [name, input] of rows) validate(name, input.val(calls?.[name] ?? ''));
  }

  // Not on every key: a text that is valid for a moment may be incomplete.
  field.on('blur', show);
  show();

  return {
    set(name, call) {
      table.closest('details').prop('open', true);
      const input = rows.get(name);
      if (!input || callsIn(String(field.val())) === null) return false;
      input.val(call).trigger('change');
      return true;
    },
  };
}

/** Returns the calls by name, valid or not; null if the value doesn't fit into the table. */
function callsIn(paths: string): Record<string, string> | null {
  const read = readPathOverrides(paths);
  if ('fault' in read && ['json', 'object', 'name'].includes(read.fault.kind)) return null;
  const calls = JSON.parse(paths.trim() || '{}') as Record<string, unknown>;
  const areTexts = Object.entries(calls).every(
    ([name, call]) => Object.hasOwn(OVERRIDABLE_CALLS, name) && typeof call === 'string',
  );
  return areTexts ? (calls as Record<string, string>) : null;
}
