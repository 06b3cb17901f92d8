import type { PathsTable } from './paths-table';
import type { EditorNode } from './red';
import { reason, request } from './requests';
import { text } from './texts';

/** One line of the test (reference 5). */
interface Check {
  name: string;
  ok: boolean | null;
  detail: string;
  suggestion?: { name: string; value: string };
}

/** Mark at the start of a line, with its text for screen readers. */
const MARKS = {
  true: { mark: '✓', word: 'check.good', style: '' },
  false: { mark: '✗', word: 'check.bad', style: 'remote-printing-bad' },
  null: { mark: '–', word: 'check.untold', style: '' },
} as const;
const NAMES = ['apiHost', 'accountHost', 'clock', 'token', 'user', 'workspace', 'clusters', 'description'];

/** The test's part of the dialog. */
interface ConnectionTest {
  /** Removes the result, also that of a test under way: the settings are others now. */
  clear: () => void;
}

/**
 * Connects the button that tests the settings in the dialog, deployed or not, and shows the result. Calls `passed` after
 * a test without faults.
 */
export function connectionTest(
  node: EditorNode,
  settings: () => Record<string, string>,
  paths: PathsTable,
  passed: () => void,
): ConnectionTest {
  // Elements of this dialog: another one may be open when the answer arrives.
  const button = $('#remote-printing-test');
  const note = $('#remote-printing-test-note');
  const lines = $('#remote-printing-checks');

  let turn = 0;

  function clear(): void {
    turn++;
    note.text('');
    lines.empty();
  }

  async function test(): Promise<void> {
    clear();
    const mine = turn;
    button.prop('disabled', true);
    note.text(text('check.testing'));
    try {
      const { checks } = await request<{ checks: Check[] }>('POST', node.id, '/test', settings());
      if (mine !== turn) return;
      const bad = checks.filter(({ ok }) => ok === false).length;
      note.text(bad === 0 ? text('check.allGood') : text('check.someBad', { count: bad }));
      show(checks);
      if (bad === 0) passed();
    } catch (failure) {
      if (mine === turn) note.text(reason(failure));
    } finally {
      button.prop('disabled', false);
    }
  }

  /** Shows faults and suggestions first; folds the rest into one line per kind. */
  function show(checks: Check[]): void {
    const isUrgent = ({ ok, suggestion }: Check) => ok === false || suggestion !== undefined;
    const urgent = checks.filter(isUrgent).sort((one, other) => Number(one.ok !== false) - Number(other.ok !== false));
    const rest = checks.filter((check) => !isUrgent(check));
    if (urgent.length > 0) lines.append(list(urgent));
    for (const [ok, count] of [
      [true, 'check.goodCount'],
      [null, 'check.untoldCount'],
    ] as const) {
      const these = rest.filter((check) => check.ok === ok);
      const summary = $('<summary>', { text: `${MARKS[`${ok}`].mark} ${text(count, { count: these.length })}` });
      if (these.length > 0) lines.append($('<details>').append(summary, list(these)));
    }
  }

  const list = (checks: Check[]) =>
    $('<ul>', { 'aria-label': text('label.connection') }).append(checks.map((check) => line(check)));

  function line({ name, ok, detail, suggestion }: Check): JQuery {
    const { mark, word, style } = MARKS[`${ok}`];
    const shown = $('<li>').append(
      $('<span>', { text: mark, class: style, role: 'img', 'aria-label': text(word) }),
      ' ',
      $('<b>', { text: nameOf(name) }),
      ' ',
      $('<span>', { text: detail }),
    );
    if (!suggestion) return shown;
    const use = $('<button>', {
      type: 'button',
      class: 'red-ui-button red-ui-button-small',
      text: text('check.use', { call: suggestion.value }),
    });
    use.on('click', () => {
      const isSet = paths.set(suggestion.name, suggestion.value);
      use.prop('disabled', isSet);
      note.text(text(isSet ? 'check.used' : 'check.mendPaths'));
    });
    return shown.append(' ', use);
  }

  button.on('click', () => void test());
  return { clear };
}

function nameOf(name: string): string {
  const [, kind, call] = /^(path|described)\.(\w+)$/.exec(name) ?? [];
  if (call) return kind === 'path' ? text('check.path', { name: call }) : text('check.described', { name: call });
  return NAMES.includes(name) ? text(`check.${name}`) : name;
}
