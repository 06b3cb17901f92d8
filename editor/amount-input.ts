import { readAmount, variableOf } from '../lib/rules/text';
import { fieldOf } from './fields';

/**
 * Shows an amount in a familiar unit, which equals `per` saved units; `least` is 0 if 0 is allowed. A variable has saved
 * units, so no unit stands after its name.
 */
export function amountInput(name: string, per: number, least?: number): void {
  const saved = fieldOf(name);
  const own = String(saved.attr('id'));
  const amount = readAmount(saved.val(), least);
  const id = `${own}-shown`;
  const type = saved.attr('type') ?? 'number';
  const shown = $('<input>', { type, min: '0', step: 'any', id }).css('width', saved.css('width'));
  // Shows an invalid value unchanged, so that its validation error makes sense.
  shown.val(amount === null ? String(saved.val()) : String(Number((amount / per).toFixed(3))));
  saved.attr('type', 'hidden').before(shown);
  const showUnit = () => saved.next('span').toggle(variableOf(saved.val()) === null);
  showUnit();
  $(`label[for="${own}"]`).attr('for', id);
  shown.on('input change', () => {
    const typed = String(shown.val());
    const amount = typed.trim() === '' ? NaN : Number(typed);
    saved.val(Number.isNaN(amount) ? typed : String(Math.round(amount * per))).trigger('change');
    showUnit();
  });
  // The editor marks only the saved field as invalid; copies the mark to the shown one.
  const judged = new MutationObserver(() => shown.toggleClass('input-error', saved.hasClass('input-error')));
  for (const field of saved.get()) judged.observe(field, { attributeFilter: ['class'] });
}
