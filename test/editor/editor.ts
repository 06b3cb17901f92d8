import assert from 'node:assert/strict';
import { chromium, type Browser, type BrowserContext, type Locator, type Page } from 'playwright-core';

import { ensureChromium } from '../../scripts/debian.mjs';
import { editorTheme } from '../../scripts/node-red.mjs';
import { assertAccessible, COLORS } from '../helpers/accessibility';
import { saveCoverage, startCoverage } from './coverage';
import {
  darkTheme,
  newestRuntimes,
  startRealNodeRed,
  type RealNodeRed,
  type RealNodeRedOptions,
  type Runtime,
} from '../helpers/real-node-red';

/** The forms don't depend on the version of Node.js. */
export const editors = newestRuntimes;

/** bcrypt of `correct horse`. */
const password = '$2b$08$wX0xAJlPav/YhoUReR4Bx.bMBMe0NyIQhzBrLvYbuX3QUH3MIzcrC';

/** The hardest environment for a form: the editor below a path and behind a password. */
export const lockedBelowPath = {
  httpAdminRoot: '/admin',
  adminAuth: { type: 'credentials', users: [{ username: 'owner', password, permissions: '*' }] },
};

/** Id of a simulator account, and the flows of a runtime that contains it. */
export const account = 'account';
export const withAccount = [
  { id: 'tab', type: 'tab', label: 'test' },
  { id: account, type: 'remote-printing-account', service: 'simulator' },
];

/** Timeout of one user action, ms; generous, since cores and disk may be busy. */
const PATIENCE = 120_000;

/** Disables animations: without a graphics card, each frame costs time of the cores that run the tests. */
const STILL = `addEventListener('DOMContentLoaded', () => {
  const style = document.createElement('style');
  style.textContent = '*, *::before, *::after { transition: none !important; animation: none !important }';
  document.head.append(style);
  if (window.jQuery) jQuery.fx.off = true;
})`;

/**
 * Makes page loads cheap: without the palette manager, and with Ace, since no form of the pack shows code and Monaco
 * doubles the work.
 */
const LIGHT = {
  editorTheme: { ...editorTheme, codeEditor: { lib: 'ace' } },
  externalModules: { palette: { allowInstall: false } },
};

/** The editor that many test files share, per runtime: a start takes longer than most tests. */
const shared = new Map<Runtime, Promise<Editor>>();
/** The browser of all editors, each of which has a context of its own: a start costs a second of processor time. */
let browser: Promise<Browser> | undefined;
after(async () => {
  for (const editor of shared.values()) await (await editor).close();
  await (await browser)?.close();
});

/** Settles the editor after each test of the suite. */
export const settleAfterEach = (editor: () => Editor) =>
  afterEach(function () {
    return editor().settle(this.currentTest);
  });

/** Node-RED's editor in a browser, driven by user actions. */
export class Editor {
  /** Page errors, console errors and requests to other hosts in the current test. */
  readonly #problems: string[] = [];
  /** Problems of all earlier tests. */
  readonly #allProblems: string[] = [];
  #page: Page | undefined;
  #nodeRed: RealNodeRed;

  private constructor(
    nodeRed: RealNodeRed,
    readonly context: BrowserContext,
    private readonly options: RealNodeRedOptions,
    private readonly style: string,
  ) {
    this.#nodeRed = nodeRed;
  }

  static async start(
    { name, node, nodeRed }: Runtime,
    options: RealNodeRedOptions = {},
    colorScheme: 'light' | 'dark' = 'light',
    locale = 'en-US',
  ): Promise<Editor> {
    const started = { ...options, settings: { ...LIGHT, ...options.settings }, node, nodeRed };
    const running = await startRealNodeRed(started);
    const { origin } = new URL(running.url);
    browser ??= chromium.launch({ executablePath: ensureChromium(), args: ['--no-sandbox'] });
    const launched = await browser;
    const context = await launched.newContext({
      locale,
      viewport: { width: 1300, height: 950 },
      colorScheme,
      // Selects Node-RED 5's automatic theme, which follows the browser's preference; the choice lives in local
      // storage.
      storageState: { cookies: [], origins: [{ origin, localStorage: [{ name: 'view-dark-theme', value: 'auto' }] }] },
    });
    context.setDefaultTimeout(PATIENCE);
    await context.addInitScript(STILL);
    const editor = new Editor(running, context, started, name.includes('4.1') ? darkTheme() : '');
    context.on('request', (request) => editor.#checkHost(request.url()));
    await editor.#load();
    return editor;
  }

  get nodeRed(): RealNodeRed {
    return this.#nodeRed;
  }

  /** Restarts Node-RED on the same state and address. */
  async restart(): Promise<void> {
    const { url, userDir } = this.#nodeRed;
    await saveCoverage(this.page);
    await this.page.close();
    await this.#nodeRed.stop();
    const { flows: _flows, credentials: _credentials, ...options } = this.options;
    this.#nodeRed = await startRealNodeRed({ ...options, userDir, port: Number(new URL(url).port) });
    await this.#load();
  }

  /** Returns the shared editor with `withAccount` as its only flows. It closes after the last test. */
  static async withAccount(runtime: Runtime): Promise<Editor> {
    const running = shared.get(runtime);
    if (!running) {
      const started = Editor.start(runtime, { flows: withAccount });
      shared.set(runtime, started);
      return started;
    }
    const editor = await running;
    await editor.nodeRed.deploy(withAccount);
    await editor.#loadFlows();
    return editor;
  }

  get page(): Page {
    assert.ok(this.#page, 'the editor is not open');
    return this.#page;
  }

  /** Waits until a script returns true. A check in each frame would make the browser draw all the time. */
  async until(script: string): Promise<void> {
    await this.page.waitForFunction(script, undefined, { polling: 50 });
  }

  /** Imports flows through the import dialog. */
  async import(flows: readonly object[]): Promise<void> {
    const { page } = this;
    await page.evaluate(`RED.actions.invoke('core:show-import-dialog')`);
    const text = page.locator('#red-ui-clipboard-dialog-import-text');
    await text.fill(JSON.stringify(flows));
    // The dialog validates the text on key-up.
    await text.press('End');
    await page.click('#red-ui-clipboard-dialog-ok:not([disabled])');
    await text.waitFor({ state: 'hidden' });
  }

  /** Opens the editor on the deployed flows. */
  async #load(): Promise<void> {
    const page = await this.context.newPage();
    this.#page = page;
    page.on('pageerror', (error) => this.#problems.push(String(error)));
    page.on('console', (message) => {
      // Ignores failed requests of the editor itself, for example before the login.
      const { url } = message.location();
      const isEditors = message.text().startsWith('Failed to load resource') && !url.includes('remote-printing');
      if (message.type() === 'error' && !isEditors) this.#problems.push(`${message.text()} ${url}`);
    });
    await startCoverage(page);
    // The editor's scripts are large, and the runtime may still be starting.
    await page.goto(this.nodeRed.url, { timeout: 3 * PATIENCE });
    const login = page.locator('#node-dialog-login-username');
    const palette = this.paletteNode(this.options.withPack === false ? 'inject' : 'remote-printing-upload-and-print');
    await login.or(palette).first().waitFor();
    if (await login.isVisible()) await this.#logIn();
    await palette.waitFor();
    // The flows load after the palette.
    await this.until(`RED.workspaces.count() > 0 && !$('#red-ui-loading-progress').is(':visible')`);
    if (this.style) await page.addStyleTag({ content: this.style });
    // Notifications would cover click targets.
    await page.evaluate('RED.notifications.hide = true');
  }

  #checkHost(url: string): void {
    const { hostname, protocol } = new URL(url);
    if (/^(https?|wss?):$/.test(protocol) && hostname !== '127.0.0.1' && hostname !== 'localhost')
      this.#problems.push(`asked for ${url}`);
  }

  async #logIn(): Promise<void> {
    await this.page.fill('#node-dialog-login-username', 'owner');
    await this.page.fill('#node-dialog-login-password', 'correct horse');
    await this.page.click('#node-dialog-login-submit');
  }

  /** Call after each test: closes open dialogs, and reloads after a failure, so that no test affects the next. */
  async settle(test: Mocha.Test | undefined): Promise<void> {
    this.#allProblems.push(...this.#problems.splice(0).map((problem) => `${test?.title}: ${problem}`));
    if (test?.state === 'failed') return this.reload();
    const open = await this.page.evaluate<boolean[]>(
      `RED.editor.getEditStack().map(({ _def }) => _def.category === 'config')`,
    );
    if (open.length === 0) return;
    for (let left = open.length - 1; left >= 0; left--) await (open[left] ? this.cancelAccount(left) : this.cancel());
    await this.#loadFlows();
  }

  /** Loads the deployed flows without a page load, which would occupy both cores for seconds. */
  async #loadFlows(): Promise<void> {
    await this.page.evaluate(`$.ajax({ url: 'flows', headers: { Accept: 'application/json' } }).then((deployed) => {
      RED.nodes.clear();
      RED.history.clear();
      RED.nodes.version(deployed.rev);
      RED.nodes.import(deployed.flows);
      RED.nodes.dirty(false);
      RED.view.redraw(true);
      RED.workspaces.show(RED.nodes.getWorkspaceOrder()[0]);
    })`);
  }

  /** Reloads the page; undeployed changes are lost. */
  async reload(): Promise<void> {
    await saveCoverage(this.page);
    await this.page.close();
    await this.#load();
  }

  /** Closes the editor; fails on any page problem in any of the tests. */
  async close(): Promise<void> {
    if (this.#page) await saveCoverage(this.#page);
    await this.context.close();
    await this.nodeRed.kill();
    assert.deepEqual(this.#allProblems, []);
  }

  paletteNode(type: string): Locator {
    return this.page.locator(`.red-ui-palette-node[data-palette-type="${type}"]`);
  }

  /** Visible form rows of a dialog, without Node-RED's own elements. */
  get form(): Locator {
    return this.page.locator('.red-ui-tray form .form-row:visible');
  }

  /** Drags a node from the palette to the workspace and opens it; returns its id. */
  async add(type: string): Promise<string> {
    const before = await this.#nodeIds();
    // In columns, as what lies below the window can't be reached.
    const spot = { x: 300 + 200 * Math.floor(before.length / 8), y: 100 + 80 * (before.length % 8) };
    await this.paletteNode(type).dragTo(this.page.locator('#red-ui-workspace-chart'), { targetPosition: spot });
    const id = (await this.#nodeIds()).find((other) => !before.includes(other));
    assert.ok(id, `${type} was dragged, but no node appeared`);
    await this.open(id);
    return id;
  }

  async #nodeIds(): Promise<string[]> {
    return this.page.evaluate('RED.nodes.filterNodes({}).map((node) => node.id)');
  }

  /** Checks the visible form, or rows of it, with axe-core, in light and dark colours. */
  async assertAccessible(what: string, rows = this.form): Promise<void> {
    for (const colorScheme of ['light', 'dark'] as const) {
      await this.page.emulateMedia({ colorScheme });
      await this.colored(colorScheme);
      await assertAccessible(rows, `${what}, ${colorScheme}`, colorScheme === 'dark' ? COLORS : undefined);
    }
    await this.page.emulateMedia({ colorScheme: 'light' });
    await this.colored('light');
  }

  /**
   * Waits until the dialog's text is dark on light, or light on dark: the browser may apply the scheme a frame later.
   */
  async colored(colorScheme: 'light' | 'dark'): Promise<void> {
    await this.until(`(() => {
      const [red, green, blue] = $('.red-ui-tray form label').css('color').match(/\\d+/g).map(Number);
      return (red + green + blue > 384) === ${colorScheme === 'dark'};
    })()`);
  }

  /** Opens a node's dialog by call: double clicks aren't under test. */
  async open(id: string): Promise<void> {
    await this.#closed(0);
    await this.page.evaluate(`RED.editor.edit(RED.nodes.node('${id}'))`);
    await this.#opened(1);
  }

  /** Opens the dialog of a new account, or of a new queue, from a flow node's dialog; returns its id. */
  async addAccount(kind = 'account'): Promise<string> {
    await this.page.click(`#node-input-btn-${kind}-add`);
    return this.#accountOpened();
  }

  async openAccount(): Promise<string> {
    await this.page.click('#node-input-btn-account-edit');
    return this.#accountOpened();
  }

  /** Opens an account's dialog alone, like the sidebar of configuration nodes; a new account's by default. Returns its id. */
  async openAlone(account = '_ADD_', type = 'remote-printing-account'): Promise<string> {
    await this.page.evaluate(`RED.editor.editConfig('', '${type}', '${account}')`);
    await this.#opened(1);
    return this.page.evaluate('RED.editor.getEditStack().at(-1).id');
  }

  async #accountOpened(): Promise<string> {
    await this.#opened(2);
    return this.page.evaluate('RED.editor.getEditStack().at(-1).id');
  }

  /** `left`: number of dialogs that remain open. */
  async saveAccount(left = 1): Promise<void> {
    await this.page.click('#node-config-dialog-ok');
    await this.#closed(left);
  }

  /** `left`: as in `saveAccount`. */
  async cancelAccount(left = 1): Promise<void> {
    await this.page.click('#node-config-dialog-cancel');
    await this.#closed(left);
  }

  async cancel(): Promise<void> {
    await this.page.click('#node-dialog-cancel');
    await this.#closed(0);
  }

  async done(): Promise<void> {
    await this.page.click('#node-dialog-ok');
    await this.#closed(0);
  }

  async saveAndDeploy(): Promise<void> {
    await this.done();
    await this.deploy();
  }

  /** Waits until a dialog has slid in and was raised: earlier input may be lost. */
  async #opened(count: number): Promise<void> {
    await this.#dialogs(count);
    await this.until(`$('#red-ui-editor-stack').css('z-index') === '13'`);
  }

  async #closed(left: number): Promise<void> {
    await this.#dialogs(left);
    const shades = ['#red-ui-header-shade', '#red-ui-editor-shade', '#red-ui-palette-shade', '.red-ui-sidebar-shade'];
    if (left === 0) await this.until(`$('${shades.join()}').filter(':visible').length === 0`);
  }

  /** Waits until so many dialogs are open; only the last one is on the page, at rest. */
  async #dialogs(count: number): Promise<void> {
    await this.until(`(() => {
      const edited = RED.editor.getEditStack();
      const trays = $('.red-ui-tray');
      if (edited.length !== ${count} || trays.length !== Math.min(${count}, 1)) return false;
      if (${count} === 0) return true;
      const isConfig = edited.at(-1)._def.category === 'config';
      return (
        trays.find(isConfig ? '#node-config-dialog-ok' : '#node-dialog-ok').length === 1 &&
        trays.find('form').is(':visible') &&
        parseInt(trays.css('right')) === 0 &&
        trays[0].getAnimations().length === 0
      );
    })()`);
  }

  /** Deploys by the button; resolves once the nodes run and the editor is usable again. */
  async deploy(): Promise<void> {
    await this.nodeRed.started(async () => {
      const [answer] = await Promise.all([
        this.page.waitForResponse(
          (response) => response.url().endsWith('/flows') && response.request().method() === 'POST',
        ),
        this.page.click('#red-ui-header-button-deploy'),
      ]);
      assert.ok(answer.ok(), `deploy answered ${answer.status()}`);
    });
    await this.page.locator('#red-ui-full-shade').waitFor({ state: 'hidden' });
    await this.until(`$('#red-ui-header-button-deploy').hasClass('disabled')`);
  }

  /** Returns a deployed node without its position and wires. */
  async saved(id: string): Promise<Record<string, unknown>> {
    const flows = await this.page.evaluate<Record<string, unknown>[]>(
      `$.ajax({ url: 'flows', headers: { Accept: 'application/json' } }).then((answer) => answer.flows ?? answer)`,
    );
    const node = flows.find((other) => other.id === id);
    assert.ok(node, `node ${id} was not saved`);
    const place = ['x', 'y', 'z', 'wires'];
    return Object.fromEntries(Object.entries(node).filter(([name]) => !place.includes(name)));
  }

  /** Asserts the values of a deployed node: those expected, and the defaults of all other properties. */
  async assertSaved(id: string, expected: { type: string; [property: string]: unknown }): Promise<void> {
    const defaults = await this.page.evaluate<Record<string, unknown>>(
      `Object.fromEntries(
        Object.entries(RED.nodes.getType('${expected.type}').defaults).map(([name, { value }]) => [name, value]),
      )`,
    );
    assert.deepEqual(await this.saved(id), { ...defaults, ...expected, id });
  }

  /** Clicks a field with suggestions; returns the list once it has entries. */
  async offers(field: string): Promise<Locator> {
    await this.page.click(`#${field}`);
    const choices = this.page.locator(`#${field}-choices`).getByRole('option');
    await choices.nth(1).waitFor();
    return choices;
  }

  /** Selects the type of a TypedInput, then fills in the value. */
  async fillTyped(name: string, type: string, value: string): Promise<void> {
    await this.page.evaluate(`$('#node-input-${name}').typedInput('type', '${type}')`);
    await this.page.fill(`#node-input-${name}-shown`, value);
  }
}

/** Returns the form elements without an accessible name. */
export async function unnamed(form: Locator): Promise<string[]> {
  const lines = (await Promise.all((await form.all()).map((row) => row.ariaSnapshot()))).join('\n').split('\n');
  return lines.filter((line) => /^\s*- (textbox|combobox|checkbox|spinbutton|button)(?! ")/.test(line));
}
