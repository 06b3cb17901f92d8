import { readPriceList, type PriceList } from '../lib/rules/queue-settings';
import { fieldOf, showJson } from './fields';
import type { EditorNode } from './red';
import { text } from './texts';

/** Key of the price of all materials without one. */
const OTHERS = '*';

/** Edits prices in a field each. A malformed value stays visible as text until it is valid. */
export function pricesInput(name: string, node: EditorNode): void {
  const saved = fieldOf(name);
  showJson(node, name);
  const table = $('<div>', { class: 'remote-printing-prices' }).insertAfter(saved);
  const materials = $('<div>');
  const currency = $('<input>', { type: 'text', maxlength: '20', placeholder: 'EUR' });
  const hour = amount();
  const others = amount();
  const added = $('<input>', { type: 'text', placeholder: 'PLA' });
  const add = $('<button>', { type: 'button', class: 'red-ui-button red-ui-button-small', text: text('prices.add') });
  const byMaterial = new Map<string, JQuery>();

  function line(id: string, words: string, field: JQuery, ...more: JQuery[]): JQuery {
    const row = $('<div>').append($('<label>', { for: `remote-printing-price-${id}`, text: words }), field, ...more);
    field.attr('id', `remote-printing-price-${id}`).on('input change', save);
    return row;
  }

  function material(type: string, price: string): void {
    const field = amount().val(price);
    const remove = $('<button>', {
      type: 'button',
      class: 'red-ui-button red-ui-button-small',
      'aria-label': text('prices.remove', { material: type }),
    });
    remove.append($('<i>', { class: 'fa fa-remove', 'aria-hidden': 'true' }));
    const row = line(`kilogram-${byMaterial.size}`, text('prices.kilogram', { material: type }), field, remove);
    remove.on('click', () => {
      byMaterial.delete(type);
      row.remove();
      save();
    });
    byMaterial.set(type, field);
    materials.append(row);
  }

  function save(): void {
    const kilogram = Object.fromEntries(
      [...byMaterial, [OTHERS, others] as const].flatMap(([type, field]) => {
        const price = numberIn(field);
        return price === null ? [] : [[type, price]];
      }),
    );
    const prices = {
      ...(typed(currency) !== '' && { currency: typed(currency) }),
      ...(numberIn(hour) !== null && { hour: numberIn(hour) }),
      ...(Object.keys(kilogram).length > 0 && { kilogram }),
    };
    saved.val(JSON.stringify(prices)).trigger('change');
  }

  function show(): void {
    const prices = readPriceList(saved.val());
    saved.toggle(prices === null);
    table.toggle(prices !== null);
    if (prices) fill(prices);
  }

  function fill({ currency: unit, hour: perHour, kilogram }: PriceList): void {
    currency.val(unit ?? '');
    hour.val(perHour ?? '');
    const { [OTHERS]: rest, ...known } = kilogram;
    others.val(rest ?? '');
    byMaterial.clear();
    materials.empty();
    for (const [type, price] of Object.entries(known)) material(type, String(price));
  }

  add.on('click', () => {
    const type = typed(added);
    if (type === '' || type === OTHERS || byMaterial.has(type)) return;
    material(type, '');
    byMaterial.get(type)?.trigger('focus');
    added.val('');
  });
  const adding = $('<div>').append(
    $('<label>', { for: 'remote-printing-price-added', text: text('prices.material') }),
    added.attr('id', 'remote-printing-price-added'),
    add,
  );
  table.append(
    line('currency', text('prices.currency'), currency),
    line('hour', text('prices.hour'), hour),
    materials,
    line('others', text('prices.others'), others),
    adding,
  );
  saved.on('blur', show);
  show();
}

const amount = (): JQuery => $('<input>', { type: 'number', min: '0', step: 'any' });

const typed = (field: JQuery): string => String(field.val()).trim();

/** Number in a field; null if it is blank or negative. */
function numberIn(field: JQuery): number | null {
  const value = typed(field) === '' ? NaN : Number(typed(field));
  return value >= 0 ? value : null;
}
