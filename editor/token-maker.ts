import { fieldOf } from './fields';
import { text } from './texts';

/** Bytes of a token. */
const LENGTH = 32;

/** Adds a button that makes a new token, and shows once the headers with which a program sends it. */
export function tokenMaker(name: string): void {
  const field = fieldOf(name);
  const row = field.closest('.form-row');
  const button = $('<button>', { type: 'button', class: 'red-ui-button', text: text('token.make') });
  const note = $('<div>', { role: 'status', class: 'remote-printing-note' });
  row.append($('<div>', { style: 'margin-left: 104px; margin-top: 4px' }).append(button), note);
  button.on('click', () => {
    const token = newToken();
    field.val(token).trigger('change');
    const lines = [`Authorization: Bearer ${token}`, text('token.password'), `X-Remote-Printing-Token: ${token}`];
    note.empty().append(
      $('<div>', { text: text('token.once') }),
      lines.map((line) => $('<div>', { text: line, style: 'user-select: all; overflow-wrap: anywhere' })),
    );
  });
}

function newToken(): string {
  const bytes = window.crypto.getRandomValues(new Uint8Array(LENGTH));
  return window
    .btoa(String.fromCharCode(...bytes))
    .replace(/\+/g, '-')
    .replace(/\//g, '_')
    .replace(/=+$/, '');
}
