import { text } from './texts';

/** A named suggestion. */
export interface Choice {
  /** Saved value. */
  value: string;
  name: string;
  details: string[];
  online?: boolean | null | undefined;
  /** Whether it is currently in use. */
  current?: boolean;
}

interface ComboboxOptions {
  /** Text field. */
  input: JQuery;
  /** Element for the reason why the list is missing. */
  note: JQuery;
  /** Meaning of an empty field. */
  blank: string;
  /**
   * Undefined if there is nothing to choose from; rejects with an Error that names the next step. `search` is blank
   * unless the list is long.
   */
  load: (search: string) => Promise<Choice[]> | undefined;
  /** Length of a list that may go on: what is typed then also searches the rest. */
  most?: number | undefined;
  /** Text of the field; undefined while the field contains something else, such as a property's name. */
  value: () => string | undefined;
  choose: (value: string) => void;
}

/** Pause in the typing after which a long list is searched, ms. */
const PAUSE = 300;

export interface Combobox {
  refresh: () => Promise<void>;
  show: () => void;
}

/**
 * Turns a text field into a combobox: it suggests choices that match the input, and shows the chosen one by name
 * without focus. Names are user input, so they are only ever set as text.
 */
export function combobox({ input, note, blank, load, most = Infinity, value, choose }: ComboboxOptions): Combobox {
  const id = input.attr('id') ?? '';
  let choices: Choice[] = [];
  let turn = 0;
  let offered: Choice[] = [];
  let active = -1;
  let loaded = false;
  /** Whether to open the list once it has loaded. */
  let wanted = false;
  /** Whether the list without a search may go on. */
  let isLong = false;
  let searching: number | undefined;

  const chosen = $('<div>', { class: 'remote-printing-chosen', id: `${id}-chosen` }).insertAfter(input);
  // The list belongs to the row, since elements around the field may clip it.
  const row = input.closest('.form-row').css('position', 'relative');
  const list = $('<ul>', { class: 'remote-printing-choices', id: `${id}-choices`, role: 'listbox' }).appendTo(row);
  // Labels by reference: the editor fills in the texts after the form's initialization.
  $(`label[for="${id}"]`).attr('id', `${id}-label`);
  list.attr('aria-labelledby', `${id}-label`);
  input.parent().addClass('remote-printing-combobox');
  input.attr({
    role: 'combobox',
    autocomplete: 'off',
    'aria-autocomplete': 'list',
    'aria-controls': `${id}-choices`,
    'aria-expanded': 'false',
    'aria-describedby': `${id}-chosen`,
  });

  const isOpen = () => list.hasClass('remote-printing-open');
  const typed = () => String(input.val());
  const known = () => choices.find((choice) => choice.value !== '' && choice.value === value());

  /** Shows the name of the chosen value, if known. */
  function show(): void {
    const isText = value() !== undefined;
    const choice = known();
    const isCovered = choice !== undefined && !input.is(':focus');
    chosen.empty().toggle(isCovered);
    input.toggleClass('remote-printing-covered', isCovered);
    if (choice) chosen.append(line(choice));
    input.attr('placeholder', isText ? blank : '');
    const isStrange = loaded && isText && !choice && value() !== '' && !value()?.includes('${');
    if (loaded) note.text(isLong ? text('picker.more', { count: most }) : isStrange ? text('picker.other') : '');
    if (!isText) close();
  }

  function line({ name, details, online, current }: Choice): JQuery {
    const shown = $('<span>');
    if (online !== undefined && online !== null) {
      const style = online ? 'remote-printing-online' : 'remote-printing-offline';
      const word = text(online ? 'picker.online' : 'picker.offline');
      shown.append($('<span>', { class: style, title: word, role: 'img', 'aria-label': word }), ' ');
    }
    shown.append($('<b>', { text: name }), ' ', $('<span>', { text: details.join(', ') }));
    if (current) shown.append(' ', $('<em>', { text: text('picker.current') }));
    return shown;
  }

  function open(): void {
    if (value() === undefined) return;
    wanted = true;
    const words = typed() === value() && (typed() === '' || known()) ? [] : typed().toLowerCase().split(/\s+/);
    const fits = ({ name, details, value }: Choice) => {
      const all = [name, ...details, value].join(' ').toLowerCase();
      return words.every((word) => all.includes(word));
    };
    offered = choices.filter(fits);
    if (words.length === 0 && blank) offered.unshift({ value: '', name: blank, details: [] });
    activate(-1);
    list.empty().append(offered.map(option));
    const isShown = choices.length > 0 && offered.length > 0;
    const { left = 0, bottom = 0, width = 0 } = input[0]?.getBoundingClientRect() ?? {};
    const { left: x = 0, top: y = 0 } = row[0]?.getBoundingClientRect() ?? {};
    list.css({ left: left - x, top: bottom - y, width }).toggleClass('remote-printing-open', isShown);
    input.attr('aria-expanded', String(isShown));
  }

  function option(choice: Choice, index: number): JQuery {
    const isChosen = choice.value === value();
    return $('<li>', { id: `${id}-choice-${index}`, role: 'option', 'aria-selected': String(isChosen) })
      .append(line(choice))
      .on('mousedown', (event) => event.preventDefault())
      .on('click', () => select(choice));
  }

  function close(): void {
    wanted = false;
    list.removeClass('remote-printing-open');
    input.attr('aria-expanded', 'false').removeAttr('aria-activedescendant');
  }

  function activate(index: number): void {
    active = index;
    const options = list.children().removeClass('remote-printing-active');
    if (index < 0) return void input.removeAttr('aria-activedescendant');
    input.attr('aria-activedescendant', `${id}-choice-${index}`);
    options.eq(index).addClass('remote-printing-active').get(0)?.scrollIntoView({ block: 'nearest' });
  }

  function select(choice: Choice): void {
    choose(choice.value);
    close();
    show();
  }

  /** Selects a choice by its typed name if the name is unique. */
  function leave(): void {
    const name = typed().trim().toLowerCase();
    const named = choices.filter((choice) => choice.name.toLowerCase() === name);
    const [only] = named;
    if (isOpen() && only && named.length === 1 && !known()) choose(only.value);
    close();
    show();
  }

  function onKey(event: JQuery.KeyDownEvent): void {
    const keys: Record<string, () => void> = {
      ArrowDown: () => (isOpen() ? activate(Math.min(active + 1, offered.length - 1)) : open()),
      ArrowUp: () => isOpen() && activate(Math.max(active - 1, 0)),
      Enter: () => {
        const choice = offered[active];
        if (choice) select(choice);
        else close();
      },
      Escape: close,
    };
    const act = keys[event.key];
    // While the list is closed, the keys belong to the dialog.
    if (!act || event.ctrlKey || event.metaKey || value() === undefined) return;
    if (!isOpen() && event.key !== 'ArrowDown') return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  async function refresh(search = ''): Promise<void> {
    const mine = ++turn;
    window.clearTimeout(searching);
    const loading = load(search);
    loaded = false;
    if (loading) note.text(text('picker.loading'));
    let found: Choice[] = [];
    let message = '';
    try {
      found = (await loading) ?? [];
      if (loading && found.length === 0) message = text('picker.none');
    } catch (error) {
      message = error instanceof Error ? error.message : String(error);
    }
    // The dialog may have closed meanwhile, along with its inputs.
    if (mine !== turn || !input[0]?.isConnected) return;
    choices = found;
    loaded = found.length > 0;
    if (search === '') isLong = found.length >= most;
    note.text(message);
    show();
    if (wanted) open();
  }

  input.on('focus', show);
  input.on('blur', leave);
  input.on('click', () => {
    input.trigger('select');
    open();
  });
  input.on('input', () => {
    open();
    if (!isLong) return;
    window.clearTimeout(searching);
    searching = window.setTimeout(() => void refresh(value() ?? ''), PAUSE);
  });
  input.on('keydown', onKey);
  show();
  return { refresh, show };
}
