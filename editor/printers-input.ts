import { readPrinterIds, readTags } from '../lib/rules/queue-settings';
import type { Choice } from './combobox';
import { fieldOf, showJson, showWhile } from './fields';
import { lists } from './lists';
import type { EditorNode } from './red';
import { reason } from './requests';
import { text } from './texts';

/**
 * Edits the printers of a queue and their tags in a list: a check box and words for each printer of the account, those that
 * are ticked first, in their order. While the account can't be asked, or if a saved value is malformed, both stay text.
 */
export function printersInput(name: string, node: EditorNode): void {
  const saved = fieldOf(name);
  const tags = fieldOf('tags');
  const tagsRow = tags.closest('.form-row');
  const list = $('<ul>', { class: 'remote-printing-list', 'aria-labelledby': 'remote-printing-printers-label' });
  const note = $('<div>', { role: 'status', class: 'remote-printing-note' });
  saved.closest('.form-row').append(list, note).children('label').attr('id', 'remote-printing-printers-label');
  showJson(node, name);
  showJson(node, 'tags');
  let turn = 0;

  const ids = () => readPrinterIds(saved.val()) ?? [];
  const tagsById = () => readTags(tags.val()) ?? {};
  const save = (field: JQuery, value: unknown) => field.val(JSON.stringify(value)).trigger('change');
  const showText = (isText: boolean) => {
    saved.toggle(isText);
    tagsRow.toggle(isText);
    list.toggle(!isText);
  };

  async function load(): Promise<void> {
    const mine = ++turn;
    const account = String(fieldOf('account').val() ?? '');
    showText(true);
    note.text(text('picker.loading'));
    try {
      const printers = await lists.clusters(account);
      if (mine !== turn) return;
      show(printers);
    } catch (thrown) {
      if (mine === turn) note.text(`${reason(thrown)} ${text('printers.asText')}`);
    }
  }

  function show(printers: Choice[]): void {
    const isMalformed = readPrinterIds(saved.val()) === null || readTags(tags.val()) === null;
    if (isMalformed) return void note.text('');
    const chosen = ids();
    const known = new Map(printers.map((printer) => [printer.value, printer]));
    const missing = [...new Set([...chosen, ...Object.keys(tagsById())])].filter((id) => !known.has(id));
    const rows: Choice[] = [
      ...printers,
      ...missing.map((value) => ({ value, name: value, details: [text('printers.gone')] })),
    ];
    const place = ({ value }: Choice) => (chosen.includes(value) ? chosen.indexOf(value) : chosen.length);
    rows.sort((one, other) => place(one) - place(other));
    list.empty().append(rows.map(rowOf));
    // The order matters to this choice alone.
    showWhile({ choose: 'list' }, '.remote-printing-list button');
    note.text(chosen.length === 0 ? text('printers.all') : '');
    showText(false);
  }

  function rowOf({ value, name: shown, details, online }: Choice, index: number): JQuery {
    const id = `remote-printing-printer-${index}`;
    const box = $('<input>', { type: 'checkbox', id, value }).prop('checked', ids().includes(value));
    const words = $('<label>', { for: id }).append(
      $('<b>', { text: shown }),
      ' ',
      $('<span>', { text: details.join(', ') }),
    );
    if (online === false) words.append(' ', $('<em>', { text: text('picker.offline') }));
    const own = $('<input>', { type: 'text', placeholder: text('printers.tags') });
    own.attr('aria-label', text('printers.tagsOf', { name: shown })).val((tagsById()[value] ?? []).join(' '));
    const upwards = text('printers.up', { name: shown });
    const up = $('<button>', { type: 'button', class: 'red-ui-button red-ui-button-small', title: upwards });
    up.attr('aria-label', upwards).append($('<i>', { class: 'fa fa-arrow-up', 'aria-hidden': 'true' }));
    const row = $('<li>').append(box, words, own, up);

    box.on('change', saveIds);
    up.on('click', () => {
      row.insertBefore(row.prev());
      up.trigger('focus');
      saveIds();
    });
    own.on('input change', () => {
      const said = String(own.val())
        .split(/[\s,;]+/)
        .filter((word) => word !== '');
      const { [value]: _, ...others } = tagsById();
      save(tags, said.length > 0 ? { ...others, [value]: [...new Set(said)] } : others);
    });
    return row;
  }

  /** Saves the ticked printers in the order of the list. */
  function saveIds(): void {
    const ticked = list.find('input:checked').toArray();
    save(
      saved,
      ticked.map((box) => $(box).val()),
    );
    note.text(ticked.length === 0 ? text('printers.all') : '');
  }

  fieldOf('account').on('change', () => void load());
  void load();
}

/** The list of `printersInput` edits the tags, too. */
export const tagsInput = (): void => undefined;
