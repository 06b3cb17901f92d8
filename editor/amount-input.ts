import { readAmount } from '../lib/rules/amounts';

/** Shows an amount in the unit that people think in, which is `per` of the unit that is saved. */
export function amountInput(name: string, per: number): void {
  const saved = $(`#node-input-${name}`);
  const amount = readAmount(saved.val());
  // What is no number is shown as it is, with the reason why it can't stay.
  if (amount === null && saved.val() !== '') return;
  const id = `node-input-${name}-shown`;
  const shown = $('<input>', { type: 'number', min: '0', step: 'any', id }).css('width', saved.css('width'));
  shown.val(amount === null ? '' : String(Number((amount / per).toFixed(3))));
  saved.attr('type', 'hidden').before(shown);
  $(`label[for="node-input-${name}"]`).attr('for', id);
  shown.on('input change', () => {
    const typed = String(shown.val());
    saved.val(typed === '' ? '' : String(Math.round(Number(typed) * per))).trigger('change');
  });
  // Whoever judges the saved one marks it alone.
  const judged = new MutationObserver(() => shown.toggleClass('input-error', saved.hasClass('input-error')));
  for (const field of saved.get()) judged.observe(field, { attributeFilter: ['class'] });
}
