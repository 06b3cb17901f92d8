import assert from 'node:assert/strict';

import { account, Editor, editors, settleAfterEach, unnamed } from './editor';

const type = 'remote-printing-board';

for (const runtime of editors) {
  describe(`the form of the print board in ${runtime.name}`, function () {
    let editor: Editor;

    before(async () => (editor = await Editor.withAccount(runtime)));
    settleAfterEach(() => editor);
    const untilHidden = (name: string) => editor.page.locator(`#node-input-${name}`).waitFor({ state: 'hidden' });

    it('saves the defaults, with the only account preselected', async () => {
      const id = await editor.add(type);
      assert.equal(await editor.page.inputValue('#node-input-account'), account);
      assert.deepEqual(await unnamed(editor.form), []);
      // The buttons in the rows of queue and account are Node-RED's own.
      const links = editor.page.locator('#node-input-account, #node-input-queue');
      await editor.assertAccessible('print board', editor.form.filter({ hasNot: links }));
      await editor.saveAndDeploy();
      await editor.assertSaved(id, { type, account });
    });

    it('hides the account once a queue is chosen, and empties it', async () => {
      const id = await editor.add(type);
      await editor.addAccount('queue').then(async (queue) => {
        await editor.saveAccount();
        assert.equal(await editor.page.inputValue('#node-input-queue'), queue);
        await untilHidden('account');
        await editor.page.fill('#node-input-path', 'farm/board');
        await editor.page.selectOption('#node-input-allow', 'all');
        await editor.page.fill('#node-input-token', 'open sesame');
        await editor.saveAndDeploy();
        await editor.assertSaved(id, { type, account: '', queue, path: 'farm/board', allow: 'all' });
      });
      await editor.open(id);
      await untilHidden('account');
      await editor.cancel();
    });

    it('marks a board and assistant tools that were imported without their account or queue', async () => {
      const board = { type, z: 'tab', x: 100, y: 400, path: 'imported', allow: 'press', wires: [[]] };
      const assistant = { ...board, type: 'remote-printing-assistant', allow: 'look', wires: [[], []] };
      const links = [{ queue: 'gone' }, { account: 'gone' }, { account }];
      await editor.import(
        [board, assistant].flatMap((node, row) =>
          links.map((link, at) => ({ ...node, ...link, id: `imported-${row}${at}`, name: `imported ${row}${at}` })),
        ),
      );
      const marked = await editor.page.evaluate(
        `RED.nodes.filterNodes({}).filter((node) => /^imported/.test(node.name) && !node.valid).map((node) => node.name)`,
      );
      assert.deepEqual(marked, ['imported 00', 'imported 01', 'imported 10', 'imported 11']);
    });

    it('checks the path and the hosts', async () => {
      const id = await editor.add(type);
      const invalid = () => editor.page.locator('.red-ui-tray form .input-error').count();
      assert.equal(await invalid(), 0);
      await editor.page.fill('#node-input-path', 'a/../b');
      await editor.page.fill('#node-input-hosts', 'a;b');
      await editor.page.locator('#node-input-hosts').press('Tab');
      await editor.until(`$('.red-ui-tray form .input-error').length === 2`);
      await editor.cancel();
      assert.ok(id);
    });
  });
}
