import assert from 'node:assert/strict';
import { join } from 'node:path';
import type { Browser, ConsoleMessage, Locator, Page } from 'playwright-core';

import { root } from '../../scripts/node-red.mjs';

/** Folder of the dashboard's pack, for `nodesDir`. */
export const dashboardPack = join(root, 'matrix', 'node_modules', '@flowfuse', 'node-red-dashboard');

export const PHONE = { width: 390, height: 844 };
export const SCREEN = { width: 1920, height: 1080 };
const PATIENCE = 120_000;

/** Dashboard of an example in a browser. */
export class Wall {
  /** Errors that the page threw or logged, and foreign addresses that it requested or received. */
  readonly problems: string[] = [];

  private constructor(readonly page: Page) {}

  /**
   * Opens a page; `nodeRed` is the address of a Node-RED that runs the example, `ahead` the error of the page's clock, ms.
   */
  static async open(browser: Browser, nodeRed: string, viewport = SCREEN, path = 'printers', ahead = 0): Promise<Wall> {
    const page = await browser.newPage({ locale: 'en-US', viewport });
    await page.addInitScript((ms) => {
      const now = Date.now;
      Date.now = () => now() + ms;
    }, ahead);
    page.setDefaultTimeout(PATIENCE);
    const wall = new Wall(page);
    page.on('pageerror', (error) => wall.problems.push(String(error)));
    page.on('console', (message) => wall.#note(message));
    page.on('request', (request) => {
      const { origin, protocol } = new URL(request.url());
      if (protocol !== 'data:' && origin !== new URL(nodeRed).origin) wall.problems.push(`asked for ${request.url()}`);
    });
    page.on('websocket', (socket) =>
      socket.on('framereceived', ({ payload }) => {
        // The simulator's service and storage have separate ports.
        const [address] = /\bhttps?:\/\/[^/"]+:\d+[^"]*/.exec(payload.toString()) ?? [];
        if (address !== undefined) wall.problems.push(`was told ${address}`);
      }),
    );
    await page.goto(new URL(`dashboard/${path}`, nodeRed).href);
    return wall;
  }

  #note(message: ConsoleMessage): void {
    // Node-RED is off, or listens before its dashboard is ready.
    const isSocket = message.location().url.includes('/dashboard/socket.io');
    const whileOff =
      /ERR_CONNECTION_|^SIO connect error/.test(message.text()) || (isSocket && message.text().includes(' 404 '));
    if (message.type() === 'error' && !whileOff) this.problems.push(message.text());
  }

  get cards(): Locator {
    return this.page.getByRole('article');
  }

  get notice(): Locator {
    return this.page.locator('.nrdb-ui-notification');
  }

  card = (name: string): Locator => this.page.getByRole('article', { name, exact: true });
  button = (name: string): Locator => this.page.getByRole('button', { name, exact: true });

  /** Waits for a card of each of these printers, and asserts that there is no other card. */
  async showsOnly(names: string[]): Promise<void> {
    for (const name of names) await this.card(name).waitFor();
    assert.equal(await this.cards.count(), names.length);
  }

  /** Drags a file from outside onto a card. */
  async drop(card: Locator, file: string): Promise<void> {
    const taken = await card.evaluate((element: unknown) => {
      const above = new Event('dragover', { bubbles: true, cancelable: true });
      return !(element as EventTarget).dispatchEvent(above);
    });
    // Without a handler, the browser opens the file itself.
    assert.ok(taken, 'files are not taken');
    await card.scrollIntoViewIfNeeded();
    const { x, y } = (await card.boundingBox())!;
    const hand = await this.page.context().newCDPSession(this.page);
    const data = { items: [], files: [file], dragOperationsMask: 1 };
    for (const type of ['dragEnter', 'dragOver', 'drop'] as const)
      await hand.send('Input.dispatchDragEvent', { type, x: x + 50, y: y + 50, data });
    await hand.detach();
  }

  /** Answers the question in the page's dialog. */
  async answer(question: string, answer: string): Promise<void> {
    const dialog = this.page.getByRole('dialog', { name: question, exact: true });
    await dialog.getByRole('button', { name: answer, exact: true }).click();
    await dialog.waitFor({ state: 'hidden' });
  }

  /** Asserts that nothing is cut off, and that the page does not scroll sideways. */
  async assertFits(): Promise<void> {
    const wide = await this.page.evaluate(
      `[...document.querySelectorAll('*')]
        .filter((element) => element.getClientRects().length > 0 && element.getBoundingClientRect().right > innerWidth + 1)
        .map((element) => element.outerHTML.slice(0, 200))`,
    );
    assert.deepEqual(wide, []);
    assert.ok(await this.page.evaluate('document.documentElement.scrollWidth <= innerWidth'), 'can be scrolled aside');
  }

  /** Background colour of the page, as `rgb(…)`. */
  background = (): Promise<string> =>
    this.page.evaluate(`getComputedStyle(document.querySelector('.v-application')).backgroundColor`);

  /** Number of pixels of the chart with this colour. */
  drawn = (red: number, green: number, blue: number): Promise<number> =>
    this.page.evaluate(`(() => {
      let count = 0;
      for (const canvas of document.querySelectorAll('canvas')) {
        const { data } = canvas.getContext('2d').getImageData(0, 0, canvas.width, canvas.height);
        for (let at = 0; at < data.length; at += 4)
          if (data[at] === ${red} && data[at + 1] === ${green} && data[at + 2] === ${blue}) count += 1;
      }
      return count;
    })()`);
}
