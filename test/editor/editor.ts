import assert from 'node:assert/strict';
import { chromium, type BrowserContext, type Locator, type Page } from 'playwright-core';

import { ensureChromium } from '../../scripts/chromium.mjs';
import {
  runtimes,
  startRealNodeRed,
  type RealNodeRed,
  type RealNodeRedOptions,
  type Runtime,
} from '../helpers/real-node-red';

/** The newest runtime of each Node-RED line: the editors differ, the Node.js below them shows in no form. */
export const editors = runtimes.filter(({ name }) => /4\.1 on Node 20$|5\.0 on Node 24$/.test(name));

/** bcrypt of `correct horse`. */
const password = '$2b$08$wX0xAJlPav/YhoUReR4Bx.bMBMe0NyIQhzBrLvYbuX3QUH3MIzcrC';

/** The harder place for a form to live in: the editor below a path, behind a password. */
export const lockedBelowPath = {
  httpAdminRoot: '/admin',
  adminAuth: { type: 'credentials', users: [{ username: 'owner', password, permissions: '*' }] },
};

/** Node-RED's editor in a browser, used as a person would. */
export class Editor {
  /** Errors that the page threw or wrote to its console; not the browser's own lines about answers that are no 200. */
  readonly problems: string[] = [];

  private constructor(
    readonly nodeRed: RealNodeRed,
    readonly context: BrowserContext,
    readonly page: Page,
  ) {
    page.on('pageerror', (error) => this.problems.push(String(error)));
    page.on('console', (message) => {
      const asExpected = message.text().startsWith('Failed to load resource');
      if (message.type() === 'error' && !asExpected) this.problems.push(message.text());
    });
  }

  static async start({ node, nodeRed }: Runtime, settings: RealNodeRedOptions['settings'] = {}): Promise<Editor> {
    const running = await startRealNodeRed({ node, nodeRed, settings });
    const browser = await chromium.launch({ executablePath: ensureChromium(), args: ['--no-sandbox'] });
    const context = await browser.newContext({ locale: 'en-US', viewport: { width: 1300, height: 950 } });
    context.setDefaultTimeout(10_000);
    const editor = new Editor(running, context, await context.newPage());
    await editor.page.goto(running.url);
    if (settings.adminAuth) await editor.#logIn();
    await editor.paletteNode('remote-printing-upload-and-print').waitFor();
    return editor;
  }

  async #logIn(): Promise<void> {
    await this.page.fill('#node-dialog-login-username', 'owner');
    await this.page.fill('#node-dialog-login-password', 'correct horse');
    await this.page.click('#node-dialog-login-submit');
  }

  async close(): Promise<void> {
    await this.context.browser()?.close();
    await this.nodeRed.kill();
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

  /** By call, not by double click: Node-RED's notifications come and go above the workspace. */
  async open(id: string): Promise<void> {
    await this.page.evaluate(`RED.editor.edit(RED.nodes.node('${id}'))`);
    await this.#dialogs(1);
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

  async #accountOpened(): Promise<string> {
    await this.#dialogs(2);
    return this.page.evaluate('RED.editor.getEditStack().at(-1).id');
  }

  async saveAccount(): Promise<void> {
    await this.page.click('#node-config-dialog-ok');
    await this.#dialogs(1);
  }

  async done(): Promise<void> {
    await this.page.click('#node-dialog-ok');
    await this.#dialogs(0);
  }

  /** Waits until so many dialogs are open; only the last of them is on the page. */
  async #dialogs(count: number): Promise<void> {
    await this.page.waitForFunction(
      `RED.editor.getEditStack().length === ${count} && $('.red-ui-tray').length === ${Math.min(count, 1)}`,
    );
    if (count > 0) await this.page.locator('.red-ui-tray form').first().waitFor();
    else await this.page.locator('#red-ui-palette-shade').waitFor({ state: 'hidden' });
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
