import assert from 'node:assert/strict';

import { Editor, editors } from './editor';

/** Runs as soon as it is part of a page, whatever letters a parser picks out of it. */
const SCRIPT = '<img src=x onerror="window.ran = true">';

/** What somebody may have put into a flow that others import. */
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

    before(async () => {
      editor = await Editor.start(runtime);
    });
    after(() => editor.close());
    afterEach(function () {
      return editor.settle(this.currentTest);
    });

    it('runs none of it when somebody looks why the accounts are marked', async () => {
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
  });
}
