import assert from 'node:assert/strict';
import { spawnSync } from 'node:child_process';
import { createReadStream, existsSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { stripVTControlCharacters } from 'node:util';
import { chromium, type Browser, type Page } from 'playwright-core';

import { ensureChromium } from '../../scripts/debian.mjs';
import { stateOf } from '../../scripts/unchanged.mjs';
import { root, sources } from '../helpers/sources';

/** Output of VitePress for a build without a warning. */
const SILENT =
  /^(vitepress v[\d.]+|[-✓] (building client \+ server bundles|rendering pages)\.\.\.|build complete in .*|)$/;
const FORGE = 'https://github.com/remote-printing/node-red-remote-printing';
const BASE = '/node-red-remote-printing/';
/** Any host. */
const SITE = `http://site${BASE}`;
const TYPES: Record<string, string> = { '.html': 'text/html', '.js': 'text/javascript', '.css': 'text/css' };

const all = (text: string, pattern: RegExp): string[] => [...text.matchAll(pattern)].map(([, found = '']) => found);

/** The site as it was last built: a build takes as much processor time as all that follows. */
const folder = join(root, '.cache/site');
/** The state of the sources of that build, if it had no warning. */
const mark = join(folder, '.sources');

describe('the site', function () {
  /** Lines of the build's output besides its progress. */
  let warnings: string[] = [];
  /** Pages by their path. */
  let pages: Map<string, string>;

  function build(): void {
    rmSync(folder, { recursive: true, force: true });
    const { status, stdout, stderr } = spawnSync(
      process.execPath,
      ['node_modules/vitepress/bin/vitepress.js', 'build', 'docs', '--outDir', folder],
      { cwd: root, encoding: 'utf8', env: { ...process.env, NO_COLOR: '1' } },
    );
    const printed = stdout + stderr;
    assert.equal(status, 0, printed);
    const lines = stripVTControlCharacters(printed).split('\n');
    warnings = lines.map((line) => line.trim()).filter((line) => !SILENT.test(line));
  }

  before(() => {
    const state = stateOf(root);
    if (state === null || !existsSync(mark) || readFileSync(mark, 'utf8') !== state) {
      build();
      // A source that changed during the build must not count as built.
      if (state !== null && warnings.length === 0 && stateOf(root) === state) writeFileSync(mark, state);
    }
    const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((file) => file.endsWith('.html'));
    pages = new Map(files.map((file) => [file, readFileSync(join(folder, file), 'utf8')]));
  });

  it('builds without a warning', () => {
    assert.deepEqual(warnings, []);
  });

  it('has a page for each page of docs/, which its sidebar shows', () => {
    const [, sidebar = ''] = /id="VPSidebarNav"(.*?)<\/nav>/s.exec(pages.get('index.html')!) ?? [];
    const shown = all(sidebar, /href="([^"]+)"/g).map(fileOf);
    const wanted = sources(/\.md$/, 'docs').map((path) =>
      path
        .replace(/^docs\//, '')
        .replace(/README\.md$/, 'index.md')
        .replace(/\.md$/, '.html'),
    );
    const built = [...pages.keys()].filter((page) => page !== '404.html');
    assert.deepEqual(
      wanted.filter((page) => !built.includes(page)),
      [],
    );
    assert.deepEqual(shown.toSorted(), built.toSorted());
  });

  it('has no link to a page, a heading, a picture or a file that does not exist', () => {
    const anchors = new Map([...pages].map(([page, html]) => [page, new Set(all(html, /\sid="([^"]+)"/g))]));
    const isAlive = (page: string, link: string): boolean => {
      const { href, origin, pathname, hash } = new URL(link, SITE + page);
      if (href.startsWith(`${FORGE}/`)) {
        const [, path] = /^\/(?:blob|tree|edit)\/main\/([^#]*)/.exec(href.slice(FORGE.length)) ?? [];
        return path === undefined || existsSync(join(root, path));
      }
      if (origin !== new URL(SITE).origin) return true;
      const file = fileOf(pathname);
      const id = decodeURIComponent(hash.slice(1));
      return existsSync(join(folder, file)) && (id === '' || id === 'VPContent' || anchors.get(file)?.has(id) === true);
    };
    const dead = [...pages].flatMap(([page, html]) =>
      all(html, /\s(?:href|src)="([^"]+)"/g)
        .filter((link) => !isAlive(page, link))
        .map((link) => `${page}: ${link}`),
    );
    assert.deepEqual(dead, []);
  });

  /** File that answers an address. */
  function fileOf(pathname: string): string {
    assert.ok(pathname.startsWith(BASE), pathname);
    return pathname.slice(BASE.length).replace(/(^|\/)$/, '$1index.html');
  }

  describe('in a browser', () => {
    let server: Server;
    let browser: Browser;
    let page: Page;
    let site: string;
    let problems: string[];

    before(async () => {
      server = createServer(({ url = '' }, response) => {
        const { pathname } = new URL(url, SITE);
        const path = pathname.startsWith(BASE) ? join(folder, fileOf(pathname)) : '';
        if (!existsSync(path)) return void response.writeHead(404).end();
        response.setHeader('content-type', TYPES[extname(path)] ?? 'application/octet-stream');
        createReadStream(path).pipe(response);
      });
      await new Promise<void>((listening) => server.listen(0, '127.0.0.1', listening));
      site = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
      browser = await chromium.launch({ executablePath: ensureChromium(), args: ['--no-sandbox'] });
      page = await browser.newPage();
      page.setDefaultTimeout(60_000);
      problems = [];
      page.on('pageerror', (error) => problems.push(String(error)));
      page.on('console', (message) => {
        if (/error|warning/.test(message.type())) problems.push(`${message.text()} ${message.location().url}`);
      });
      page.on('request', (request) => {
        const url = request.url();
        if (!url.startsWith(site) && !url.startsWith('data:')) problems.push(url);
      });
    });
    after(async () => {
      await browser.close();
      server.closeAllConnections();
      await new Promise((closed) => server.close(closed));
    });

    beforeEach(async () => {
      problems.length = 0;
      await page.goto(site + BASE);
      await page.getByRole('heading', { level: 1, name: 'Remote Printing for Node-RED' }).waitFor();
    });
    afterEach(() => assert.deepEqual(problems, [], 'errors of the page, and requests elsewhere'));

    it('leads from its first page to the first automation', async () => {
      await page.getByRole('main').getByRole('link', { name: 'The first automation' }).first().click();
      await page.getByRole('heading', { level: 1, name: 'The first automation' }).waitFor();
      const picture = page.getByRole('img', { name: /message of a print that has finished/ });
      await picture.evaluate((image) => (image as unknown as { decode(): Promise<void> }).decode());
    });

    it('finds a symptom by the words under a node', async () => {
      await page.getByRole('button', { name: 'Search' }).click();
      await page.getByRole('searchbox').fill('print outcome unknown');
      await page
        .getByRole('option', { name: /Print outcome unknown/ })
        .first()
        .click();
      await page.waitForURL(/troubleshooting\.html#print-outcome-unknown/);
      await page.getByRole('heading', { name: 'Print outcome unknown' }).waitFor();
    });
  });
});
