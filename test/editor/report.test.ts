import assert from 'node:assert/strict';

import { account, Editor, editors, unnamed, settleAfterEach } from './editor';

for (const runtime of editors) {
  describe(`form of the report generator in ${runtime.name}`, function () {
    let editor: Editor;

    before(async () => (editor = await Editor.withAccount(runtime)));
    settleAfterEach(() => editor);

    it('has the documented defaults, and saves the settings', async () => {
      const { page } = editor;
      const id = await editor.add('remote-printing-report-generator');
      assert.deepEqual(await unnamed(editor.form), []);
      await editor.assertAccessible('report generator');
      await page.selectOption('#node-input-account', account);
      await editor.saveAndDeploy();
      await editor.assertSaved(id, {
        ...{ type: 'remote-printing-report-generator', name: '', account, clusters: '', clustersType: 'str' },
        ...{ reportType: 'print_jobs', from: 'last 7 days', fromType: 'relative', to: '', toType: 'relative' },
        ...{ format: 'rows', file: '', fileType: 'str', onlyNew: false, timeout: 300 },
      });

      await editor.open(id);
      await (await editor.offers('node-input-clusters-shown')).nth(1).click();
      const first = await page.inputValue('#node-input-clusters');
      assert.match(first, /^[\w-]{41}[\w=-]{3}$/);
      await editor.fillTyped('from', 'relative', 'last 30 days');
      await editor.fillTyped('to', 'msg', 'until');
      await page.selectOption('#node-input-format', 'stream');
      await page.check('#node-input-onlyNew');
      assert.equal(await page.inputValue('#node-input-timeout-shown'), '5');
      await page.fill('#node-input-timeout-shown', '15');
      await editor.saveAndDeploy();
      await editor.assertSaved(id, {
        ...{ type: 'remote-printing-report-generator', account, clusters: first, clustersType: 'str' },
        ...{ from: 'last 30 days', to: 'until', toType: 'msg', format: 'stream', onlyNew: true, timeout: '900' },
      });
    });

    it('shows the target for files only, and the new-rows option for rows only', async () => {
      const { page } = editor;
      await editor.add('remote-printing-report-generator');
      for (const [format, file, onlyNew] of [
        ['file', true, false],
        ['csv', false, false],
        ['stream', false, true],
        ['rows', false, true],
      ] as const) {
        await page.selectOption('#node-input-format', format);
        assert.equal(await page.isVisible('#node-input-file-shown'), file, format);
        assert.equal(await page.isVisible('#node-input-onlyNew'), onlyNew, format);
      }
      await editor.done();
    });

    it('suggests range words, and marks an invalid range', async () => {
      const { page } = editor;
      const id = await editor.add('remote-printing-report-generator');
      await page.selectOption('#node-input-account', account);
      await page.fill('#node-input-from-shown', '');
      await page.locator('#node-input-from-shown').pressSequentially('last w');
      await page.locator('.red-ui-autoComplete-container a', { hasText: 'last week' }).click();
      assert.equal(await page.inputValue('#node-input-from-shown'), 'last week');
      const valid = () => page.evaluate<boolean>(`RED.nodes.node('${id}').valid`);
      await editor.done();
      assert.equal(await valid(), true);
      await editor.open(id);
      await editor.fillTyped('from', 'relative', 'next week');
      await editor.done();
      assert.equal(await valid(), false);
      const judge = (type: string, value: string) =>
        page.evaluate<unknown>(`(() => {
          const { defaults } = RED.nodes.getType('remote-printing-report-generator');
          const node = Object.assign(Object.create(RED.nodes.node('${id}')), { fromType: '${type}' });
          return defaults.from.validate.call(node, '${value}', {});
        })()`);
      for (const [type, value, wanted] of [
        ['relative', 'last 3 weeks', true],
        ['relative', 'This Month', true],
        ['relative', '', true],
        ['relative', 'last 0 days', false],
        ['jsonata', '(', false],
        ['str', '2026-01-31', true],
      ] as const)
        assert.equal((await judge(type, value)) === true, wanted, value);
    });
  });
}
