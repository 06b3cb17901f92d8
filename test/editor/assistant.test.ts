import assert from 'node:assert/strict';

import { account, Editor, editors, settleAfterEach, unnamed } from './editor';

const type = 'remote-printing-assistant';

for (const runtime of editors) {
  describe(`the form of the assistant tools in ${runtime.name}`, function () {
    let editor: Editor;

    before(async () => (editor = await Editor.withAccount(runtime)));
    settleAfterEach(() => editor);

    it('saves the defaults, with the only account preselected', async () => {
      const id = await editor.add(type);
      assert.equal(await editor.page.inputValue('#node-input-account'), account);
      assert.deepEqual(await unnamed(editor.form), []);
      await editor.saveAndDeploy();
      await editor.assertSaved(id, { type, account, allow: 'look', path: 'remote-printing-tools' });
    });

    it('makes a token of 32 random bytes, and shows the headers once', async () => {
      const id = await editor.add(type);
      const form = editor.form;
      await form.getByRole('button', { name: 'Make a new token' }).click();
      const token = await editor.page.inputValue('#node-input-token');
      assert.equal(Buffer.from(token, 'base64url').length, 32);
      const shown = (await form.allInnerTexts()).join('\n');
      assert.ok(shown.includes(`Authorization: Bearer ${token}`));
      assert.ok(shown.includes(`X-Remote-Printing-Token: ${token}`));
      await form.getByRole('button', { name: 'Make a new token' }).click();
      assert.notEqual(await editor.page.inputValue('#node-input-token'), token);
      await editor.saveAndDeploy();
      await editor.open(id);
      assert.equal((await form.allInnerTexts()).join('\n').includes('Bearer'), false);
      await editor.cancel();
    });

    it('shows the time for an OK only where a person is asked', async () => {
      await editor.add(type);
      const isShown = () => editor.page.locator('#node-input-expires').isVisible();
      assert.equal(await isShown(), false);
      await editor.page.selectOption('#node-input-allow', 'ask');
      assert.equal(await isShown(), true);
      await editor.cancel();
    });
  });
}
