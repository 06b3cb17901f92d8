import { randomUUID } from 'node:crypto';
import { mkdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { pathToFileURL } from 'node:url';
import type { Page } from 'playwright-core';

import { editorScript, editorSourceMap } from '../../scripts/build.mjs';

/** Folder for the browser's coverage, in the format of NODE_V8_COVERAGE, so that c8 reads both. */
const folder = process.env.EDITOR_COVERAGE;

export async function startCoverage(page: Page): Promise<void> {
  if (folder) await page.coverage.startJSCoverage({ resetOnNavigation: false });
}

/** Saves which lines of editor/ the page has run. Call once per page, while it is open. */
export async function saveCoverage(page: Page): Promise<void> {
  if (!folder || page.isClosed()) return;
  const url = pathToFileURL(editorScript).href;
  const result = (await page.coverage.stopJSCoverage())
    .filter((script) => script.url.endsWith('/remote-printing-editor.js'))
    .map(({ scriptId, functions }) => ({ scriptId, url, functions }));
  const script = await readFile(editorScript, 'utf8');
  const map = {
    lineLengths: script.split('\n').map((line) => line.length),
    data: JSON.parse(await readFile(editorSourceMap, 'utf8')) as object,
    url: null,
  };
  await mkdir(folder, { recursive: true });
  const file = join(folder, `coverage-editor-${randomUUID()}.json`);
  await writeFile(file, JSON.stringify({ result, 'source-map-cache': { [url]: map }, timestamp: 0 }));
}
