import assert from 'node:assert/strict';
import { chromium, type BrowserContext, type Locator, type Page } from 'playwright-core';

import { ensureChromium } from '../../scripts/debian.mjs';
import { assertAccessible } from '../helpers/accessibility';
import { saveCoverage, startCoverage } from './coverage';
import {
  darkTheme,
  runtimes,
  startRealNodeRed,
  type RealNodeRed,
  type RealNodeRedOptions,
  type Runtime,
} from '../helpers/real-node-red';

const wanted = process.env.NODE_RED_EDITOR;
/** The newest runtime of each Node-RED line, or the one of NODE_RED_EDITOR; the Node.js below shows in no form. */
export const editors = runtimes.filter(
  ({ name }) => /4\.1 on Node 20$|5\.0 on Node 24$/.test(name) && name.includes(`Node-RED ${wanted ?? ''}`),
);

/** bcrypt of `correct horse`. */
const password = '$2b$08$wX0xAJlPav/YhoUReR4Bx.bMBMe0NyIQhzBrLvYbuX3QUH3MIzcrC';

/** The harder place for a form to live in: the editor below a path, behind a password. */
export const lockedBelowPath = {
  httpAdminRoot: '/admin',
  adminAuth: { type: 'credentials', users: [{ username: 'owner', password, permissions: '*' }] },
};

/** The id of an account of the simulator, and the flows of a runtime that has it. */
export const account = 'account';
export const withAccount = [
  { id: 'tab', type: 'tab', label: 'test' },
  { id: account, type: 'remote-printing-account', service: 'simulator' },
];

/** For one step of a person: far longer than it takes, also where cores and disk are busy with something else. */
const PATIENCE = 120_000;

/** Nothing slides or fades: each frame of it is drawn without a graphics card, on the cores that run the tests. */
const STILL = `addEventListener('DOMContentLoaded', () => {
  const style = document.createElement('style');
  style.textContent = '*, *::before, *::after { transition: none !important; animation: none !important }';
  document.head.append(style);
  if (window.jQuery) jQuery.fx.off = true;
})`;

/** Of each runtime the one that many files share: a start takes longer than most tests. */
const shared = new Map<Runtime, Promise<Editor>>();
after(async () => {
  for (const editor of shared.values()) await (await editor).close();
});

/** Node-RED's editor in a browser, used as a person would. */
export class Editor {
  /** Errors that the page threw or wrote to its console, and addresses of other computers that were asked for. */
  readonly #problems: string[] = [];
  /** The same, of all tests so far. */
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
    const started = { ...options, node, nodeRed };
    const running = await startRealNodeRed(started);
    const browser = await chromium.launch({ executablePath: ensureChromium(), args: ['--no-sandbox'] });
    const { origin } = new URL(running.url);
    const context = await browser.newContext({
      locale,
      viewport: { width: 1300, height: 950 },
      colorScheme,
      // The choice in the menu of Node-RED 5, where the browser keeps it: light or dark as the browser wants it.
      storageState: { cookies: [], origins: [{ origin, localStorage: [{ name: 'view-dark-theme', value: 'auto' }] }] },
    });
    context.setDefaultTimeout(PATIENCE);
    await context.addInitScript(STILL);
    const editor = new Editor(running, context, started, name.includes('4.1') ? darkTheme() : '');
    context.on('request', (request) => editor.#note(request.url()));
    await editor.#load();
    return editor;
  }

  get nodeRed(): RealNodeRed {
    return this.#nodeRed;
  }

  /** Node-RED ends and starts again, on what it has on disk and under the same address. */
  async restart(): Promise<void> {
    const { url, userDir } = this.#nodeRed;
    await saveCoverage(this.page);
    await this.page.close();
    await this.#nodeRed.stop();
    const { flows: _flows, credentials: _credentials, ...options } = this.options;
    this.#nodeRed = await startRealNodeRed({ ...options, userDir, port: Number(new URL(url).port) });
    await this.#load();
  }

  /** One with `withAccount` deployed, and nothing else. It closes by itself after the last test. */
  static async withAccount(runtime: Runtime): Promise<Editor> {
    const running = shared.get(runtime);
    if (!running) {
      const started = Editor.start(runtime, { flows: withAccount });
      shared.set(runtime, started);
      return started;
    }
    const editor = await running;
    await editor.nodeRed.deploy(withAccount);
    await editor.reload();
    return editor;
  }

  get page(): Page {
    assert.ok(this.#page, 'the editor is not open');
    return this.#page;
  }

  /** Imports flows as a person does who pastes what somebody else wrote. */
  async import(flows: readonly object[]): Promise<void> {
    const { page } = this;
    await page.evaluate(`RED.actions.invoke('core:show-import-dialog')`);
    const text = page.locator('#red-ui-clipboard-dialog-import-text');
    await text.fill(JSON.stringify(flows));
    // The dialog looks at what is there when a key goes up.
    await text.press('End');
    await page.click('#red-ui-clipboard-dialog-ok:not([disabled])');
    await text.waitFor({ state: 'hidden' });
  }

  /** Opens the editor on what is deployed. */
  async #load(): Promise<void> {
    const page = await this.context.newPage();
    this.#page = page;
    page.on('pageerror', (error) => this.#problems.push(String(error)));
    page.on('console', (message) => {
      // The editor's own questions, before somebody has logged in for example.
      const { url } = message.location();
      const isEditors = message.text().startsWith('Failed to load resource') && !url.includes('remote-printing');
      if (message.type() === 'error' && !isEditors) this.#problems.push(`${message.text()} ${url}`);
    });
    await startCoverage(page);
    // The editor's scripts are large, and the runtime may be busy with its start.
    await page.goto(this.nodeRed.url, { timeout: 3 * PATIENCE });
    const login = page.locator('#node-dialog-login-username');
    const palette = this.paletteNode(this.options.withPack === false ? 'inject' : 'remote-printing-upload-and-print');
    await login.or(palette).first().waitFor();
    if (await login.isVisible()) await this.#logIn();
    await palette.waitFor();
    // The flows come after the palette.
    await page.waitForFunction(`RED.workspaces.count() > 0 && !$('#red-ui-loading-progress').is(':visible')`);
    if (this.style) await page.addStyleTag({ content: this.style });
    // They come and go above what is clicked.
    await page.evaluate('RED.notifications.hide = true');
  }

  #note(url: string): void {
    const { hostname, protocol } = new URL(url);
    if (/^(https?|wss?):$/.test(protocol) && hostname !== '127.0.0.1' && hostname !== 'localhost')
      this.#problems.push(`asked for ${url}`);
  }

  async #logIn(): Promise<void> {
    await this.page.fill('#node-dialog-login-username', 'owner');
    await this.page.fill('#node-dialog-login-password', 'correct horse');
    await this.page.click('#node-dialog-login-submit');
  }

  /** To be called after each test: what it left open, because it failed for example, is not left to the next one. */
  async settle(test: Mocha.Test | undefined): Promise<void> {
    this.#allProblems.push(...this.#problems.splice(0).map((problem) => `${test?.title}: ${problem}`));
    if (test?.state === 'failed') return this.reload();
    const open = await this.page.evaluate<number>('RED.editor.getEditStack().length');
    if (open === 0) return;
    if (open > 1) await this.cancelAccount();
    await this.cancel();
    await this.#loadFlows();
  }

  /** What is deployed, without a page load, which costs both cores seconds. */
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

  /** The editor anew, as it is after a deploy; what was not deployed is gone. */
  async reload(): Promise<void> {
    await saveCoverage(this.page);
    await this.page.close();
    await this.#load();
  }

  /** Fails if the page complained of anything in any of the tests. */
  async close(): Promise<void> {
    if (this.#page) await saveCoverage(this.#page);
    await this.context.browser()?.close();
    await this.nodeRed.kill();
    assert.deepEqual(this.#allProblems, []);
  }

  paletteNode(type: string): Locator {
    return this.page.locator(`.red-ui-palette-node[data-palette-type="${type}"]`);
  }

  /** The fields that a dialog shows, Node-RED's own aside. */
  get form(): Locator {
    return this.page.locator('.red-ui-tray form .form-row:visible');
  }

  /** Drags a node from the palette to the workspace and opens it; its id. */
  async add(type: string): Promise<string> {
    const before = await this.#nodeIds();
    const spot = { x: 300, y: 100 + 80 * before.length };
    await this.paletteNode(type).dragTo(this.page.locator('#red-ui-workspace-chart'), { targetPosition: spot });
    const id = (await this.#nodeIds()).find((other) => !before.includes(other));
    assert.ok(id, `${type} was dragged, but no node appeared`);
    await this.open(id);
    return id;
  }

  async #nodeIds(): Promise<string[]> {
    return this.page.evaluate('RED.nodes.filterNodes({}).map((node) => node.id)');
  }

  /** Holds what a dialog shows of ours to what axe-core looks for, in light and in dark colours. */
  async assertAccessible(what: string): Promise<void> {
    for (const colorScheme of ['light', 'dark'] as const) {
      await this.page.emulateMedia({ colorScheme });
      await this.colored(colorScheme);
      await assertAccessible(this.form, `${what}, ${colorScheme}`);
    }
    await this.page.emulateMedia({ colorScheme: 'light' });
    await this.colored('light');
  }

  /** Waits until the letters of the open dialog are as light or dark as is wanted: the editor may be told of it a frame later. */
  async colored(colorScheme: 'light' | 'dark'): Promise<void> {
    await this.page.waitForFunction(`(() => {
      const [red, green, blue] = $('.red-ui-tray form label').css('color').match(/\\d+/g).map(Number);
      return (red + green + blue > 384) === ${colorScheme === 'dark'};
    })()`);
  }

  /** By call, not by double click: what a click hits is not what these tests are about. */
  async open(id: string): Promise<void> {
    await this.#closed(0);
    await this.page.evaluate(`RED.editor.edit(RED.nodes.node('${id}'))`);
    await this.#opened(1);
  }

  /** Opens the dialog of a new account, from the dialog of a flow node; its id. */
  async addAccount(): Promise<string> {
    await this.page.click('#node-input-btn-account-add');
    return this.#accountOpened();
  }

  async openAccount(): Promise<string> {
    await this.page.click('#node-input-btn-account-edit');
    return this.#accountOpened();
  }

  /** As from the sidebar of configuration nodes. */
  async openAlone(account: string): Promise<void> {
    await this.page.evaluate(`RED.editor.editConfig('', 'remote-printing-account', '${account}')`);
    await this.#opened(1);
  }

  async #accountOpened(): Promise<string> {
    await this.#opened(2);
    return this.page.evaluate('RED.editor.getEditStack().at(-1).id');
  }

  async saveAccount(): Promise<void> {
    await this.page.click('#node-config-dialog-ok');
    await this.#closed(1);
  }

  /** `left`: how many dialogs are still open then. */
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

  /** A dialog slides in, is laid out anew, and then is raised: before that, what is typed and clicked may go astray. */
  async #opened(count: number): Promise<void> {
    await this.#dialogs(count);
    await this.page.waitForFunction(`$('#red-ui-editor-stack').css('z-index') === '13'`);
  }

  async #closed(left: number): Promise<void> {
    await this.#dialogs(left);
    const shades = ['#red-ui-header-shade', '#red-ui-editor-shade', '#red-ui-palette-shade', '.red-ui-sidebar-shade'];
    if (left === 0) await this.page.waitForFunction(`$('${shades.join()}').filter(':visible').length === 0`);
  }

  /** Waits until so many dialogs are open; only the last of them is on the page, and has come to rest there. */
  async #dialogs(count: number): Promise<void> {
    await this.page.waitForFunction(`(() => {
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

  async deploy(): Promise<void> {
    const [answer] = await Promise.all([
      this.page.waitForResponse(
        (response) => response.url().endsWith('/flows') && response.request().method() === 'POST',
      ),
      this.page.click('#red-ui-header-button-deploy'),
    ]);
    assert.ok(answer.ok(), `deploy answered ${answer.status()}`);
    await this.page.locator('#red-ui-full-shade').waitFor({ state: 'hidden' });
    await this.page.waitForFunction(`$('#red-ui-header-button-deploy').hasClass('disabled')`);
  }

  /** A node as the runtime has it after a deploy, without its place and its wires. */
  async saved(id: string): Promise<Record<string, unknown>> {
    const flows = await this.page.evaluate<Record<string, unknown>[]>(
      `$.ajax({ url: 'flows', headers: { Accept: 'application/json' } }).then((answer) => answer.flows ?? answer)`,
    );
    const node = flows.find((other) => other.id === id);
    assert.ok(node, `node ${id} was not saved`);
    const place = ['x', 'y', 'z', 'wires'];
    return Object.fromEntries(Object.entries(node).filter(([name]) => !place.includes(name)));
  }

  /** Clicks a field that offers what it can hold, and gives the list that opens, once there is something in it. */
  async offers(field: string): Promise<Locator> {
    await this.page.click(`#${field}`);
    const choices = this.page.locator(`#${field}-choices`).getByRole('option');
    await choices.nth(1).waitFor();
    return choices;
  }

  /** Chooses the type of a TypedInput and types the value. */
  async fillTyped(name: string, type: string, value: string): Promise<void> {
    await this.page.evaluate(`$('#node-input-${name}').typedInput('type', '${type}')`);
    await this.page.fill(`#node-input-${name}-shown`, value);
  }
}

/** What stands in a form without a name that a screen reader could say. */
export async function unnamed(form: Locator): Promise<string[]> {
  const lines = (await Promise.all((await form.all()).map((row) => row.ariaSnapshot()))).join('\n').split('\n');
  return lines.filter((line) => /^\s*- (textbox|combobox|checkbox|spinbutton|button)(?! ")/.test(line));
}
