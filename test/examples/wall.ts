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

  /** Opens the page; `nodeRed` is the address of a Node-RED that runs the example. */
  static async open(browser: Browser, nodeRed: string, viewport = SCREEN): Promise<Wall> {
    const page = await browser.newPage({ locale: 'en-US', viewport });
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
    await page.goto(new URL('dashboard/printers', nodeRed).href);
    return wall;
  }

  #note(message: ConsoleMessage): void {
    // Node-RED is off, or listens before its dashboard is ready.
    const isSocket = message.location().url.includes('/dashboard/socket.io');
    const whileOff =
      /ERR_(CONNECTION_|SOCKET_NOT_CONNECTED)|^SIO connect error/.test(message.text()) ||
      (isSocket && message.text().includes(' 404 '));
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

  /** Waits until there is a card of each of these printers, and no other card: after a restart, a page draws them anew. */
  async showsOnly(names: string[]): Promise<void> {
    for (const name of names) await this.card(name).waitFor();
    await this.cards.nth(names.length).waitFor({ state: 'detached' });
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
}
