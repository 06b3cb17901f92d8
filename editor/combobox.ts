import { text } from './texts';

/** Something that can be chosen, by its name. */
export interface Choice {
  /** What is saved. */
  value: string;
  name: string;
  details: string[];
  online?: boolean | null | undefined;
  /** The one that is in use now. */
  current?: boolean;
}

interface ComboboxOptions {
  /** The field that people type in. */
  input: JQuery;
  /** Where to say why there is no list. */
  note: JQuery;
  /** What an empty field means. */
  blank: string;
  /** Undefined where there is nothing to choose from; rejects with an Error that says what to do first. */
  load: () => Promise<Choice[]> | undefined;
  /** The field's text; undefined while it holds no text but the name of a property, for example. */
  value: () => string | undefined;
  choose: (value: string) => void;
}

export interface Combobox {
  refresh: () => Promise<void>;
  show: () => void;
}

/**
 * A field of free text that offers what can be chosen, filtered by what is typed, and that shows a chosen one by its
 * name while nobody types in it. Names come from users: they are only ever set as text.
 */
export function combobox({ input, note, blank, load, value, choose }: ComboboxOptions): Combobox {
  const id = input.attr('id') ?? '';
  let choices: Choice[] = [];
  let turn = 0;
  let offered: Choice[] = [];
  let active = -1;
  let loaded = false;
  /** Somebody waits to see the list, which may still have to come. */
  let wanted = false;

  const chosen = $('<div>', { class: 'remote-printing-chosen', id: `${id}-chosen` }).insertAfter(input);
  // In the row: what is around the field may cut off what hangs out of it.
  const row = input.closest('.form-row').css('position', 'relative');
  const list = $('<ul>', { class: 'remote-printing-choices', id: `${id}-choices`, role: 'listbox' }).appendTo(row);
  // By reference: the editor puts the texts into a form after it has come to life.
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

  /** The chosen one's name, where there is one. */
  function show(): void {
    const isText = value() !== undefined;
    const choice = known();
    const isCovered = choice !== undefined && !input.is(':focus');
    chosen.empty().toggle(isCovered);
    input.toggleClass('remote-printing-covered', isCovered);
    if (choice) chosen.append(line(choice));
    input.attr('placeholder', isText ? blank : '');
    const isStrange = loaded && isText && !choice && value() !== '' && !value()?.includes('${');
    if (loaded) note.text(isStrange ? text('picker.other') : '');
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
      .on('click', () => take(choice));
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

  function take(choice: Choice): void {
    choose(choice.value);
    close();
    show();
  }

  /** A name that somebody typed stands for what has it, where only one does. */
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
        if (choice) take(choice);
        else close();
      },
      Escape: close,
    };
    const act = keys[event.key];
    // The dialog's own keys are the dialog's again as soon as the list is closed.
    if (!act || event.ctrlKey || event.metaKey || value() === undefined) return;
    if (!isOpen() && event.key !== 'ArrowDown') return;
    event.preventDefault();
    event.stopPropagation();
    act();
  }

  async function refresh(): Promise<void> {
    const mine = ++turn;
    const loading = load();
    loaded = false;
    if (loading) note.text(text('picker.loading'));
    let found: Choice[] = [];
    let said = '';
    try {
      found = (await loading) ?? [];
      if (loading && found.length === 0) said = text('picker.none');
    } catch (error) {
      said = error instanceof Error ? error.message : String(error);
    }
    // The dialog may have closed meanwhile, and its inputs are none any more.
    if (mine !== turn || !input[0]?.isConnected) return;
    choices = found;
    loaded = found.length > 0;
    note.text(said);
    show();
    if (wanted) open();
  }

  input.on('focus', show);
  input.on('blur', leave);
  input.on('click', () => {
    input.trigger('select');
    open();
  });
  input.on('input', open);
  input.on('keydown', onKey);
  show();
  return { refresh, show };
}
