import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

import { readCatalogue } from '../../nodes/shared/language';
import { account, Editor, editors, withAccount, settleAfterEach } from './editor';

const NODES = [
  'print-queue',
  ...['upload-and-print', 'cluster-status', 'job-control', 'webcam-snapshot'],
  ...['report-generator', 'library-file', 'query', 'request'],
].map((name) => `remote-printing-${name}`);
const ACCOUNT = 'remote-printing-account';
const QUEUE = 'remote-printing-queue';
const TYPES = [...NODES, QUEUE, ACCOUNT];
const NAMESPACE = '@remote-printing/node-red-remote-printing/';

/** Reads a catalogue of texts from the build. */
const catalogue = (language: string, name: string) =>
  JSON.parse(readFileSync(join(__dirname, '../../dist/nodes/locales', language, `${name}.json`), 'utf8')) as Texts;
interface Texts {
  [key: string]: string | Texts;
}
const textOf = (texts: Texts, key: string) =>
  key
    .split('.')
    .reduce<Texts | string | undefined>((at, part) => (typeof at === 'object' ? at[part] : undefined), texts);

/** Flow with a node that receives messages without a printer; an HTTP request returns its status and error. */
const at = { z: 'tab', x: 100, y: 100 };
const asking = [
  { id: 'in', type: 'http in', url: '/ask', method: 'get', wires: [['job']], ...at },
  { id: 'job', type: 'remote-printing-job-control', account, action: 'pause', wires: [[]], ...at },
  { id: 'status', type: 'status', scope: ['job'], wires: [['note']], ...at },
  {
    ...{ id: 'note', type: 'change', wires: [[]], ...at },
    rules: [{ t: 'set', p: 'said', pt: 'flow', to: 'status.text', tot: 'msg' }],
  },
  { id: 'catch', type: 'catch', scope: ['job'], wires: [['tell']], ...at },
  {
    ...{ id: 'tell', type: 'change', wires: [['out']], ...at },
    rules: [
      { t: 'set', p: 'payload', pt: 'msg', to: '{}', tot: 'json' },
      { t: 'set', p: 'payload.message', pt: 'msg', to: 'error.message', tot: 'msg' },
      { t: 'set', p: 'payload.code', pt: 'msg', to: 'error.code', tot: 'msg' },
      { t: 'set', p: 'payload.status', pt: 'msg', to: 'said', tot: 'flow' },
    ],
  },
  { id: 'out', type: 'http response', wires: [], ...at },
];
const flows = [
  ...withAccount,
  { id: 'real', type: ACCOUNT, service: 'remote' },
  { id: 'farm', type: QUEUE, account },
  ...asking,
  ...NODES.map((type, index) => ({
    id: type,
    type,
    account,
    queue: 'farm',
    wires: [[], []],
    z: 'tab',
    x: 200,
    y: 60 * index,
  })),
];

/** Collects the form's translated texts, and all elements whose content exceeds their box. */
const INSPECT = `(() => {
  const form = $('.red-ui-tray form');
  const texts = form.find('[data-i18n]').toArray().flatMap((element) =>
    element.dataset.i18n.split(';').map((said) => {
      const [, attribute, key] = /^(?:\\[(\\w+)\\])?(.*)$/.exec(said);
      return { key, text: attribute ? element.getAttribute(attribute) : element.textContent };
    }),
  );
  const outside = (element) => {
    if (element.textContent.trim() === '') return false;
    const range = document.createRange();
    range.selectNodeContents(element);
    const text = range.getBoundingClientRect();
    // Of several tips, one is visible.
    const place = (element.matches('.form-tips > span') ? element.parentElement : element).getBoundingClientRect();
    // A trailing space may extend beyond the box.
    return text.right > place.right + 5 || text.left < place.left - 5;
  };
  const narrow = (select) => {
    const free = $(select).clone().css({ width: 'auto', position: 'absolute', visibility: 'hidden' }).appendTo(form);
    const isNarrow = free.outerWidth() > $(select).outerWidth() + 1;
    free.remove();
    return isNarrow;
  };
  const { right } = form[0].getBoundingClientRect();
  const cut = [
    ...form.find('*').filter(':visible').toArray().filter((element) => element.getBoundingClientRect().right > right + 1),
    ...form.find('label:not(.remote-printing-list label), button, summary, .form-tips > span, td, th').filter(':visible').toArray().filter(outside),
    ...form.find('select:has([data-i18n])').filter(':visible').toArray().filter(narrow),
  ];
  const words = [form[0].innerText, ...form.find('[placeholder]').toArray().map((field) => field.placeholder)];
  return { texts, cut: cut.map((element) => element.textContent.trim()), words };
})()`;
interface Inspection {
  texts: { key: string; text: string }[];
  cut: string[];
  words: string[];
}

const LANGUAGES = ['en-US', 'de', 'es-ES', 'fr', 'ja', 'nl', 'zh-CN'];

/**
 * Collects what doesn't fit into an open form in any language. The form receives the texts of each catalogue in turn,
 * which saves a page load per language. A placeholder set by a script is identified by its text in the editor's
 * language.
 */
const CLIPPED = `(catalogues, own) => {
  const form = $('.red-ui-tray form');
  form.find('details').prop('open', true);
  const find = (texts, path) => path.split('.').reduce((at, part) => at?.[part], texts);
  const keys = (texts, path = []) =>
    Object.entries(texts).flatMap(([key, value]) =>
      typeof value === 'string' ? [[value, [...path, key].join('.')]] : keys(value, [...path, key]),
    );
  const setters = [];
  for (const element of form.find('[data-i18n]').toArray())
    for (const said of element.dataset.i18n.split(';')) {
      const [, attribute, name, path] = /^(?:\\[([\\w-]+)\\])?(?:.*\\/)?([\\w-]+):(.*)$/.exec(said) ?? [];
      if (!name || !catalogues[own][name]) continue;
      setters.push((texts) => {
        const text = find(texts[name], path);
        if (attribute) element.setAttribute(attribute, text);
        else element.textContent = text;
      });
    }
  const byText = new Map(
    Object.entries(catalogues[own]).flatMap(([name, texts]) => keys(texts).map(([text, path]) => [text, { name, path }])),
  );
  for (const field of form.find('input[placeholder]').toArray()) {
    const at = byText.get(field.placeholder);
    if (at) setters.push((texts) => (field.placeholder = find(texts[at.name], at.path)));
  }
  const pen = document.createElement('canvas').getContext('2d');
  const widthOf = (element, text) => {
    const { font, fontSize } = getComputedStyle(element);
    pen.font = font;
    // East Asian letters are square; a fallback font would draw narrower boxes.
    const square = text.match(/[\\u2e80-\\uffef]/g) ?? [];
    return square.length * parseFloat(fontSize) + pen.measureText(text.replace(/[\\u2e80-\\uffef]/g, '')).width;
  };
  const inside = (element) => {
    const { paddingLeft, paddingRight } = getComputedStyle(element);
    return element.clientWidth - parseFloat(paddingLeft) - parseFloat(paddingRight);
  };
  const clipped = [];
  for (const [language, texts] of Object.entries(catalogues)) {
    for (const set of setters) set(texts);
    const report = (element, text, over) =>
      over > 1 && clipped.push(language + ': ' + text + ' (' + Math.ceil(over) + ' px)');
    for (const field of form.find('input[placeholder]').filter(':visible').toArray())
      report(field, field.placeholder, widthOf(field, field.placeholder) - inside(field));
    for (const element of form.find('label:not(.remote-printing-list label), button, summary, td, th, .remote-printing-note, .remote-printing-call').filter(':visible').toArray())
      report(element, element.textContent.trim(), element.scrollWidth - element.clientWidth);
    // The user names the accounts.
    for (const select of form.find('select:not(#node-input-account)').filter(':visible').toArray())
      // Reserves space for the arrow.
      for (const option of select.options) report(select, option.text, widthOf(select, option.text) - inside(select) + 16);
    // A first word that is too long for the space beside the icon would wrap below it.
    for (const label of form.find('label:has(i.fa)').filter(':visible').toArray()) {
      const [icon, words] = [label.querySelector('i'), label.querySelector('span')];
      const [first] = words?.getClientRects() ?? [];
      if (first && first.top > icon.getBoundingClientRect().bottom - 2)
        report(label, words.textContent, 2 + first.width);
    }
  }
  return clipped;
}`;

/** The two languages with the longest words, as browser locales; one per editor. */
const LOCALES = ['de-DE', 'fr-FR'];
/** Beginning of the printing query's help, and its headings of inputs and outputs. */
const HELP: Partial<Record<string, string[]>> = {
  de: ['Stellt dem Dienst eine Frage', 'Eingangsdaten', 'Ausgangsdaten'],
  fr: ['Pose au service une question', 'Entrées', 'Sorties'],
};

for (const runtime of editors) {
  const locale = LOCALES[runtime.name.includes('4.1') ? 0 : 1] ?? assert.fail();
  const language = locale.slice(0, 2);
  const texts = new Map(TYPES.map((name) => [name, catalogue(language, name)]));
  const own = (name: string) => texts.get(name) ?? assert.fail(name);

  describe(`a German Node-RED for a ${locale} browser in ${runtime.name}`, function () {
    let editor: Editor;

    before(async () => (editor = await Editor.start(runtime, { flows, settings: { lang: 'de' } }, 'light', locale)));
    settleAfterEach(() => editor);
    after(() => editor.close());

    it('sends German statuses and errors to flows, with the same code', async () => {
      const response = await editor.nodeRed.fetch('ask');
      const failure = (await response.json()) as { message: string; code: string; status: string };
      assert.equal(failure.code, 'INVALID_INPUT');
      assert.match(failure.message, /^Einen Drucker im Node wählen oder msg\.clusterId setzen\.$/);
      assert.equal(failure.status, 'kein Drucker gewählt (simuliert)');
    });

    it("shows and finds its nodes in the palette in the editor's language", async () => {
      const query = own('remote-printing-query');
      const label = editor.paletteNode('remote-printing-query');
      assert.equal((await label.textContent())?.replace(/\s+/g, ' ').trim(), query.paletteLabel);
      const search = editor.page.locator('#red-ui-palette-search input[type=text]').last();
      await search.fill(String(query.keywords).split(' ').at(-1) ?? '');
      await search.press('End');
      await editor.until(`$('.red-ui-palette-node[data-palette-type^=remote-printing]:visible').length === 1`);
      await search.fill('');
      await search.press('End');
    });

    it("shows the opening, inputs, outputs and field names of a help in the editor's language", async () => {
      const help = await editor.page.evaluate<string>(`RED.nodes.getNodeHelp('remote-printing-query')`);
      const [opening, inputs, outputs] = HELP[language] ?? assert.fail();
      const at = [`<p>${opening}`, `<h3>${inputs}</h3>`, `<h3>${outputs}</h3>`].map((text) => help.indexOf(text));
      assert.ok(!at.includes(-1), help);
      assert.match(help, /<h3>Properties<\/h3>/);
      const { account } = own(ACCOUNT).label as Texts;
      assert.ok(help.includes(`<dt>${String(account)}</dt>`), help);
    });

    it("answers the editor in the editor's language", async () => {
      const sentences = readCatalogue(language);
      const missing = String(sentences['The account has no {0}: fill it in.']);
      await editor.openAlone('real');
      await editor.page.click('#remote-printing-test');
      const note = editor.page.locator('#remote-printing-test-note');
      await note.filter({ hasText: missing.replace('{0}', String(sentences['API host'])) }).waitFor();
      await editor.cancelAccount(0);
    });

    it('cuts off no text of any form in any language', async () => {
      const catalogues = Object.fromEntries(
        LANGUAGES.map((each) => [each, Object.fromEntries(TYPES.map((name) => [name, catalogue(each, name)]))]),
      );
      const own = LANGUAGES.find((each) => each.startsWith(language)) ?? assert.fail();
      const clipped: string[] = [];
      const look = async (type: string) => {
        const found = await editor.page.evaluate<string[]>(
          `(${CLIPPED})(${JSON.stringify(catalogues)}, ${JSON.stringify(own)})`,
        );
        clipped.push(...found.map((text) => `${type}: ${text}`));
      };
      for (const type of NODES) {
        await editor.open(type);
        // Shows every row, including hidden ones.
        await editor.page.evaluate(`$('.red-ui-tray form .form-row').show()`);
        await look(type);
        await editor.cancel();
      }
      await editor.openAlone('farm', QUEUE);
      await editor.page.locator('.remote-printing-list li').first().waitFor();
      await editor.page.selectOption('#node-config-input-choose', 'list');
      await look(QUEUE);
      await editor.cancelAccount(0);
      await editor.openAlone('real');
      await editor.page.evaluate(
        `$('.red-ui-tray form').find('.remote-printing-token, #remote-printing-use-token').show()`,
      );
      await look(ACCOUNT);
      await editor.cancelAccount(0);
      assert.deepEqual(clipped, []);
    });

    it('translates every text of every form, and cuts none off', async () => {
      const heads = TYPES.flatMap((name) => Object.keys(own(name)));
      const keyPath = new RegExp(`${NAMESPACE}|(^|\\s)(${heads.join('|')})\\.[a-z]`);
      const cut: string[] = [];
      const check = async (type: string) => {
        const look = await editor.page.evaluate<Inspection>(INSPECT);
        const ours = look.texts.filter(({ key }) => key.startsWith(NAMESPACE));
        assert.ok(ours.length > 3, type);
        for (const { key, text } of ours) {
          const [, name = '', path = ''] = /^(?:.*\/)?([\w-]+):(.*)$/.exec(key) ?? [];
          assert.equal(text, textOf(own(name), path), key);
        }
        for (const words of look.words) assert.doesNotMatch(words, keyPath, type);
        cut.push(...look.cut.map((text) => `${type}: ${text}`));
      };
      for (const type of NODES) {
        await editor.open(type);
        await check(type);
        await editor.cancel();
      }
      await editor.openAlone('farm', QUEUE);
      await editor.page.locator('.remote-printing-list li').first().waitFor();
      await check(QUEUE);
      await editor.cancelAccount(0);
      await editor.openAlone('real');
      await editor.page.evaluate(`$('.red-ui-tray details').prop('open', true)`);
      await check(ACCOUNT);
      await editor.cancelAccount(0);
      assert.deepEqual(cut, []);
    });
  });
}
