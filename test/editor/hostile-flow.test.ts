import assert from 'node:assert/strict';

import { Editor, editors, settleAfterEach } from './editor';

/** Runs as soon as it becomes part of a page. */
const SCRIPT = '<img src=x onerror="window.ran = true">';

/** Settings of a hostile flow. */
const hostile = {
  paths: [JSON.stringify({ [SCRIPT]: 'GET /x' }), JSON.stringify({ currentUser: SCRIPT }), `{"a": ${SCRIPT}}`, SCRIPT],
  storagePath: [SCRIPT],
  authUrl: [SCRIPT],
  redirectUri: [SCRIPT],
  origin: [SCRIPT],
};
const accounts = Object.entries(hostile).flatMap(([name, values]) =>
  values.map((value, index) => ({
    ...{ id: `${name}${index}`, type: 'remote-printing-account', service: 'remote', name: `${name}${index}` },
    ...{ authUrl: 'https://h', apiUrl: 'https://h', [name]: value },
  })),
);

for (const runtime of editors) {
  describe(`an imported flow with script in its settings, in ${runtime.name}`, function () {
    let editor: Editor;

    before(async () => (editor = await Editor.start(runtime)));
    after(() => editor.close());
    settleAfterEach(() => editor);

    it("runs no script when the user views an account's validation errors", async () => {
      const { page } = editor;
      await editor.import(accounts);
      await page.evaluate(`RED.sidebar.show('config')`);
      for (const { id } of accounts) {
        const mark = page.locator(
          `.red-ui-palette-node:has(.red-ui-palette-label:text-is("${id}")) .red-ui-flow-node-error`,
        );
        await mark.hover();
        const tip = page.locator('.red-ui-popover', {
          hasText: /Storage path|Paths|Account host|Other redirect|Origin/,
        });
        await tip.waitFor();
        assert.equal(await tip.locator('img').count(), 0, id);
        await page.mouse.move(0, 0);
        await tip.waitFor({ state: 'detached' });
      }
      assert.equal(await page.evaluate('window.ran'), undefined);
    });

    it('shows malformed paths as text, and an invalid path in its row', async () => {
      const { page } = editor;
      await editor.import(accounts);
      const raw = page.locator('#node-config-input-paths');
      const rows = page.locator('#remote-printing-paths');
      for (const [index, paths] of hostile.paths.entries()) {
        await editor.openAlone(`paths${index}`);
        for (const summary of await page.locator('summary').all()) await summary.click();
        assert.equal(await raw.inputValue(), paths);
        const isTable = paths.includes('currentUser');
        assert.deepEqual([await raw.isVisible(), await rows.isVisible()], [!isTable, isTable]);
        const row = page.getByLabel('who is signed in');
        if (isTable)
          assert.deepEqual([await row.inputValue(), await row.getAttribute('aria-invalid')], [SCRIPT, 'true']);
        assert.equal(await page.locator('.red-ui-tray img[src=x]').count(), 0);
        await editor.cancelAccount(0);
      }
      await editor.openAlone('paths3');
      for (const summary of await page.locator('summary').all()) await summary.click();
      await raw.fill('{"printJobs": "GET /connect/v1/jobs"}');
      await raw.press('Tab');
      await rows.waitFor();
      assert.equal(await page.getByLabel('list of print jobs').inputValue(), 'GET /connect/v1/jobs');
      assert.equal(await page.evaluate('window.ran'), undefined);
      await editor.cancelAccount(0);
    });
  });
}
