import { readAmount } from '../lib/rules/text';
import { fieldOf } from './fields';

/** Shows an amount in a familiar unit, which equals `per` saved units; `least` is 0 if 0 is allowed. */
export function amountInput(name: string, per: number, least?: number): void {
  const saved = fieldOf(name);
  const own = String(saved.attr('id'));
  const amount = readAmount(saved.val(), least);
  // Shows an invalid value unchanged, so that its validation error makes sense.
  if (amount === null && saved.val() !== '') return;
  const id = `${own}-shown`;
  const shown = $('<input>', { type: 'number', min: '0', step: 'any', id }).css('width', saved.css('width'));
  shown.val(amount === null ? '' : String(Number((amount / per).toFixed(3))));
  saved.attr('type', 'hidden').before(shown);
  $(`label[for="${own}"]`).attr('for', id);
  shown.on('input change', () => {
    const typed = String(shown.val());
    saved.val(typed === '' ? '' : String(Math.round(Number(typed) * per))).trigger('change');
  });
  // The editor marks only the saved field as invalid; copies the mark to the shown one.
  const judged = new MutationObserver(() => shown.toggleClass('input-error', saved.hasClass('input-error')));
  for (const field of saved.get()) judged.observe(field, { attributeFilter: ['class'] });
}
