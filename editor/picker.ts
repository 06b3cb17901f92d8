import type { Choice } from './requests';
import { text } from './texts';

export interface PickerOptions {
  select: JQuery;
  note: JQuery;
  /** What an empty text means. */
  blank: string;
  /** Rejects with an Error that says what to do first. */
  load: () => Promise<Choice[]>;
  /** The text that the select writes into, as it is now; undefined while it is no plain text. */
  value: () => string | undefined;
  choose: (value: string) => void;
}

export interface Picker {
  refresh: () => Promise<void>;
  show: () => void;
}

/** A select that writes into the free text it stands beside. Names come from users: they are only ever set as text. */
export function picker({ select, note, blank, load, value, choose }: PickerOptions): Picker {
  let choices: Choice[] = [];
  let turn = 0;

  function show(): void {
    const current = value();
    const known = choices.some((choice) => choice.value === current);
    select.empty();
    if (!known && current !== '')
      select.append($('<option>', { value: '-', text: text('picker.other'), disabled: true }));
    select.append($('<option>', { value: '', text: blank }));
    for (const choice of choices) select.append($('<option>', { value: choice.value, text: choice.label }));
    select.val(current !== undefined && (known || current === '') ? current : '-');
  }

  async function refresh(): Promise<void> {
    const mine = ++turn;
    note.text(text('picker.loading'));
    let found: Choice[] = [];
    let said = '';
    try {
      found = await load();
      if (found.length === 0) said = text('picker.none');
    } catch (error) {
      said = error instanceof Error ? error.message : String(error);
    }
    // The dialog may have closed meanwhile, and its inputs are none any more.
    if (mine !== turn || !select[0]?.isConnected) return;
    choices = found;
    note.text(said);
    show();
  }

  select.on('change', () => choose(String(select.val())));
  show();
  return { refresh, show };
}
