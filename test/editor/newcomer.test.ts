import assert from 'node:assert/strict';
import { rm } from 'node:fs/promises';
import { join } from 'node:path';
import type { Locator, Page } from 'playwright-core';

import { startSimulatorProcess, type RunningSimulator } from '../../scripts/simulator.mjs';
import { freshUserDir, type Runtime } from '../helpers/real-node-red';
import { textOf } from '../helpers/sources';
import { packTarball, type Tarball } from '../runtime/palette';
import { Editor, editors } from './editor';

type Scheme = 'light' | 'dark';

/** The page that leads a newcomer. */
const FIRST_PAGE = textOf('docs/first-automation.md');
/** Time from an empty palette to a message with a picture, ms. */
const FIRST_PICTURE = 180_000;
/** Time from the import of the board to its first print, ms. */
const FIRST_PRINT = 180_000;
const GCODE = [
  ';START_OF_HEADER',
  ';FLAVOR:Griffin',
  ';TARGET_MACHINE.NAME:Simulated Maker One',
  ';PRINT.TIME:3600',
  ';END_OF_HEADER',
  ';TIME:3600',
  'G28',
  'M104 S0',
  '',
].join('\n');

/** The colour scheme of each Node-RED's newcomer. Further tests check the dialogs in both schemes on both. */
const schemeOn = ({ name }: Runtime): Scheme => (name.includes('4.1') ? 'light' : 'dark');

/** A user with an empty Node-RED, whose clicks and keystrokes are counted; pasting counts as one keystroke. */
class Newcomer {
  clicks = 0;
  keystrokes = 0;
  #service: RunningSimulator | undefined;

  private constructor(
    readonly colorScheme: Scheme,
    readonly editor: Editor,
    readonly userDir: string,
  ) {}

  static async start(runtime: Runtime, colorScheme: Scheme): Promise<Newcomer> {
    const userDir = await freshUserDir();
    // The palette manager, which the editor of the tests goes without, installs the pack.
    const options = { withPack: false, userDir, settings: { externalModules: {} } };
    return new Newcomer(colorScheme, await Editor.start(runtime, options, colorScheme), userDir);
  }

  async end(): Promise<void> {
    await this.editor.close();
    await this.#service?.stop();
    await rm(this.userDir, { recursive: true, force: true });
  }

  get page(): Page {
    return this.editor.page;
  }

  async click(what: string | Locator): Promise<void> {
    await (typeof what === 'string' ? this.page.locator(what) : what).click();
    this.clicks += 1;
  }

  async paste(field: string, text: string): Promise<void> {
    await this.click(field);
    await this.page.keyboard.insertText(text);
    this.keystrokes += 1;
  }

  async menu(item: string): Promise<void> {
    await this.click('#red-ui-header-button-sidemenu');
    await this.click(this.page.locator('#red-ui-header-button-sidemenu-submenu').getByText(item, { exact: true }));
  }

  async deploy(): Promise<void> {
    await this.editor.deploy();
    this.clicks += 1;
  }

  node(label: string): Locator {
    const { page } = this;
    const text = page.locator('.red-ui-flow-node-label-text').getByText(label, { exact: true });
    return page.locator('.red-ui-flow-node-group', { has: text });
  }

  async edit(label: string): Promise<void> {
    await this.node(label).dblclick();
    this.clicks += 2;
  }

  /** Waits for a node's status. */
  status(label: string, words: RegExp): Promise<void> {
    return this.node(label).locator('.red-ui-flow-node-status-label', { hasText: words }).waitFor();
  }

  async install({ file }: Tarball): Promise<void> {
    const { page } = this;
    await this.menu('Manage palette');
    await this.click(page.locator('#red-ui-settings-tab-palette').getByText('Install', { exact: true }));
    const chooser = page.waitForEvent('filechooser');
    await this.click('.red-ui-palette-editor-upload-button');
    await (await chooser).setFiles(file);
    await this.click(page.locator('.red-ui-palette-editor-upload').getByRole('button', { name: 'Upload' }));
    // The package manager may be slow.
    await this.editor.paletteNode('remote-printing-request').waitFor({ state: 'attached', timeout: 240_000 });
    await this.click(page.getByRole('button', { name: 'Close', exact: true }));
  }

  async importExample(pack: string, name: string): Promise<void> {
    await this.menu('Import');
    await this.click(this.page.locator('#red-ui-clipboard-dialog-import-tabs').getByText('Examples'));
    const examples = this.page.locator('#red-ui-clipboard-dialog-import-tab-examples');
    await this.click(examples.getByText(pack, { exact: true }));
    await this.click(examples.getByText(name, { exact: true }));
    await this.click('#red-ui-clipboard-dialog-ok');
  }

  /** Imports an example that shares nodes with those that are there. */
  async importBeside(pack: string, name: string): Promise<void> {
    // The question is a notification, which the editor of the tests hides.
    await this.page.evaluate('RED.notifications.hide = false');
    await this.importExample(pack, name);
    await this.click(this.page.getByRole('button', { name: 'Import copy' }));
    await this.page.evaluate('RED.notifications.hide = true');
  }

  /** Returns the number of nodes of a type. */
  count = (type: string): Promise<number> =>
    this.page.evaluate<number>(`RED.nodes.createCompleteNodeSet().filter((node) => node.type === '${type}').length`);

  showFlow = (label: string): Promise<void> => this.click(this.page.locator('.red-ui-tab', { hasText: label }));

  /** Advances the time of the simulated printers inside Node-RED. */
  async pass(seconds: number): Promise<void> {
    const account = await this.page.evaluate<string>(
      `RED.nodes.filterNodes({ type: 'remote-printing-cluster-status' })[0].account`,
    );
    const about = await this.editor.nodeRed.fetch(`remote-printing/accounts/${account}`);
    const { simulatorUrl } = (await about.json()) as { simulatorUrl: string };
    const body = JSON.stringify({ seconds });
    const headers = { 'content-type': 'application/json' };
    const passed = await fetch(`${simulatorUrl}/world/advance`, { method: 'POST', headers, body });
    assert.equal(passed.status, 200);
  }

  /** Returns the width of the picture on a page of this Node-RED. */
  async pictureAt(path: string): Promise<number> {
    const page = await this.editor.context.newPage();
    await page.goto(this.editor.nodeRed.url + path);
    this.keystrokes += path.length + 1;
    const width = await page.locator('img').evaluate(async (element: unknown) => {
      const image = element as { decode(): Promise<void>; naturalWidth: number };
      await image.decode();
      return image.naturalWidth;
    });
    await page.close();
    return width;
  }

  /** On the board of the print queue: clears the plates, adds a file, and waits until it prints. */
  async printOnTheBoard(): Promise<void> {
    const board = await this.editor.context.newPage();
    await board.goto(`${this.editor.nodeRed.url}print-queue`);
    this.keystrokes += 'print-queue'.length + 1;
    // One of each of the six printers, whose first polls are spread.
    await board
      .getByRole('group', { name: /^Plate: / })
      .nth(5)
      .waitFor();
    await this.click(board.getByRole('button', { name: 'All good' }));
    const chooser = board.waitForEvent('filechooser');
    await this.click(board.getByRole('button', { name: 'Add files' }));
    await (await chooser).setFiles({ name: 'mine.gcode', mimeType: '', buffer: Buffer.from(GCODE) });
    await this.click(board.getByRole('dialog').getByRole('button', { name: 'Add', exact: true }));
    const printers = board.getByRole('region', { name: 'Printers' }).getByRole('article');
    await printers
      .filter({ hasText: 'mine.gcode' })
      .filter({ has: board.getByRole('progressbar') })
      .waitFor();
    await board.close();
  }

  /** Starts the installed pack's simulator, and fills in an account for it. */
  async fillInAccount(pack: string): Promise<void> {
    const cli = join(this.userDir, 'node_modules', pack, 'dist/simulator/cli.js');
    this.#service = await startSimulatorProcess(['--history'], cli);
    const { authUrl, apiUrl, clientId, clientSecret } = this.#service;
    for (const [name, value] of Object.entries({ authUrl, apiUrl, clientId, clientSecret }))
      await this.paste(`#node-config-input-${name}`, value);
  }

  /** Signs in on the service's pages with the second workspace, and refuses or approves the access. */
  async signIn(answer: 'Refuse' | 'Approve'): Promise<void> {
    const opened = this.editor.context.waitForEvent('page');
    await this.click('#remote-printing-sign-in');
    const service = await opened;
    await this.click(service.getByRole('button', { name: 'Sign in' }));
    await service.getByLabel('Workspace').selectOption({ label: 'School' });
    this.clicks += 2;
    await this.click(service.getByRole('button', { name: 'Continue' }));
    await this.click(service.getByRole('button', { name: answer }));
    await service.getByRole('heading', { name: answer === 'Approve' ? 'Signed in' : 'Not signed in' }).waitFor();
    await service.close();
    this.clicks += 1;
  }

  said = (id: string, words: string): Promise<void> =>
    this.page.locator(`#remote-printing-${id}`, { hasText: words }).waitFor();
}

for (const runtime of editors) {
  describe(`a newcomer to ${runtime.name}, in the ${schemeOn(runtime)}`, function () {
    let tarball: Tarball;
    let newcomer: Newcomer;
    let began: number;

    before(async () => {
      tarball = await packTarball();
      newcomer = await Newcomer.start(runtime, schemeOn(runtime));
      began = performance.now();
    });
    afterEach(() => {
      const seconds = ((performance.now() - began) / 1000).toFixed(1);
      const { clicks, keystrokes } = newcomer;
      console.log(`      ${clicks} clicks and ${keystrokes} keystrokes so far, in ${seconds} s`);
    });
    after(async () => {
      await newcomer.end();
      await tarball.remove();
    });

    it('installs the pack into an empty palette', () => newcomer.install(tarball));

    it('sees a picture in under three minutes by the steps of the first automation', async () => {
      const [, example = ''] = /Choose _(.+?)_ and press \*\*Import\*\*/.exec(FIRST_PAGE) ?? assert.fail();
      const [, button = ''] = /Press the button of \*\*(.+?)\*\*/.exec(FIRST_PAGE) ?? assert.fail();
      const [, path = ''] = /Open `\/(.+?)` under the address/.exec(FIRST_PAGE) ?? assert.fail();
      await newcomer.importExample(tarball.manifest.name, example);
      await newcomer.showFlow('Print ended');
      await newcomer.deploy();
      const [, online = ''] = /shows _(\d of \d online)_/.exec(FIRST_PAGE) ?? assert.fail();
      await newcomer.status('all printers', new RegExp(online));
      await newcomer.click(newcomer.node(button).locator('.red-ui-flow-node-button-button'));
      await newcomer.status('upload and print', /sent/);
      await newcomer.pass(1200);
      await newcomer.status('message', /square\.gcode has finished on/);
      assert.equal(await newcomer.pictureAt(path), 640);
      const taken = performance.now() - began;
      assert.ok(taken < FIRST_PICTURE, `${Math.round(taken / 1000)} s with the installation`);
    });

    it('imports the board of the print queue beside it, and sees the first print in under three minutes', async () => {
      const start = performance.now();
      await newcomer.importBeside(tarball.manifest.name, '06-print-queue-with-a-board');
      await newcomer.showFlow('Print queue with a board');
      await newcomer.deploy();
      await newcomer.status('Print queue', /open/);
      await newcomer.printOnTheBoard();
      const taken = performance.now() - start;
      assert.ok(taken < FIRST_PRINT, `${Math.round(taken / 1000)} s`);
      assert.equal(await newcomer.count('remote-printing-account'), 1, 'both examples use one account');
      await newcomer.showFlow('Print ended');
    });

    it('signs in a second account after a refusal, and tests it without a problem', async () => {
      await newcomer.edit('all printers');
      await newcomer.click('#node-input-btn-account-add');
      await newcomer.fillInAccount(tarball.manifest.name);
      await newcomer.editor.colored(newcomer.colorScheme);
      await newcomer.signIn('Refuse');
      await newcomer.said('state-error', 'refused');
      await newcomer.signIn('Approve');
      await newcomer.said('state', 'signed in as');
      // The last text to arrive moves the button.
      await newcomer.said('holder', 'Workspace:');
      await newcomer.click('#remote-printing-test');
      await newcomer.said('test-note', 'No problems found');
      await newcomer.said('checks', 'School');
      await newcomer.click('#node-config-dialog-ok');
      await newcomer.click('#node-dialog-ok');
      await newcomer.deploy();
      await newcomer.status('all printers', /1 of 1 online/);
    });

    it('is still signed in after a restart of Node-RED', async () => {
      await newcomer.editor.restart();
      await newcomer.showFlow('Print ended');
      await newcomer.status('all printers', /1 of 1 online/);
      await newcomer.edit('all printers');
      await newcomer.click('#node-input-btn-account-edit');
      await newcomer.said('state', 'signed in as');
    });
  });
}
