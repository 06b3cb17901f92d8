import assert from 'node:assert/strict';

import { account, Editor, editors, unnamed, settleAfterEach } from './editor';

for (const runtime of editors) {
  describe(`the editor in ${runtime.name}, with library file and printing query`, function () {
    let editor: Editor;

    before(async () => (editor = await Editor.withAccount(runtime)));
    settleAfterEach(() => editor);

    const offered = (select: string) =>
      editor.page
        .locator(`${select} option`)
        .evaluateAll((options) => options.map((option) => (option as unknown as { value: string }).value));
    /** Returns which of the fields and hints are visible. */
    const shown = async (...selectors: string[]) => {
      const visible = await Promise.all(selectors.map((selector) => editor.page.isVisible(selector)));
      return selectors.filter((_, index) => visible[index]);
    };

    it("shows the fields of library file's operation, and saves the settings", async () => {
      const { page } = editor;
      const id = await editor.add('remote-printing-library-file');
      await page.selectOption('#node-input-account', account);
      assert.deepEqual(await offered('#node-input-operation'), ['upload', 'info', 'download', 'delete']);
      assert.deepEqual(await offered('#node-input-kind'), ['file', 'job']);
      const fields = ['#node-input-source', '#node-input-fileId-shown', '#node-input-file-shown'];
      const tips = [
        '#remote-printing-file-row [data-operation=upload]',
        '#remote-printing-file-row [data-operation=download]',
      ];
      const needed: Record<string, string[]> = {
        upload: ['#node-input-source', '#node-input-file-shown', '#remote-printing-file-row [data-operation=upload]'],
        info: ['#node-input-fileId-shown'],
        download: [
          '#node-input-fileId-shown',
          '#node-input-file-shown',
          '#remote-printing-file-row [data-operation=download]',
        ],
        delete: ['#node-input-fileId-shown'],
      };
      for (const [operation, wanted] of Object.entries(needed)) {
        await page.selectOption('#node-input-operation', operation);
        assert.deepEqual(await shown(...fields, ...tips), wanted, operation);
        assert.deepEqual(await unnamed(editor.form), []);
      }
      await page.selectOption('#node-input-operation', 'download');
      await editor.assertAccessible('library file');
      await page.selectOption('#node-input-operation', 'upload');
      await page.selectOption('#node-input-source', 'payload');
      assert.deepEqual(await shown(...fields, ...tips), ['#node-input-source']);

      await page.selectOption('#node-input-operation', 'download');
      await page.selectOption('#node-input-kind', 'job');
      await editor.fillTyped('fileId', 'flow', 'wanted');
      await editor.fillTyped('file', 'msg', 'target');
      await page.fill('#node-input-timeout-shown', '2');
      await editor.saveAndDeploy();
      await editor.assertSaved(id, {
        ...{ type: 'remote-printing-library-file', name: '', account, operation: 'download', kind: 'job' },
        ...{ source: 'payload', file: 'target', fileType: 'msg', fileId: 'wanted', fileIdType: 'flow' },
        timeout: '120',
      });
    });

    it("shows the fields of printing query's query, and saves the settings", async () => {
      const { page } = editor;
      const id = await editor.add('remote-printing-query');
      await page.selectOption('#node-input-account', account);
      const needed: Record<string, string[]> = {
        ...{ clusters: [], printers: ['#node-input-item-shown'], materials: ['#node-input-item-shown'] },
        'cluster-status': ['#node-input-cluster-shown'],
        'print-jobs': ['#node-input-cluster-shown', '#node-input-item-shown'],
        'print-job': ['#node-input-cluster-shown', '#node-input-item-shown'],
        'stored-job': ['#node-input-item-shown'],
        preview: ['#node-input-cluster-shown', '#node-input-item-shown'],
        ...{ 'library-file': ['#node-input-item-shown'], maintenance: ['#node-input-cluster-shown'] },
        'current-user': [],
      };
      assert.deepEqual(await offered('#node-input-query'), Object.keys(needed));
      for (const [query, wanted] of Object.entries(needed)) {
        await page.selectOption('#node-input-query', query);
        assert.deepEqual(await shown('#node-input-cluster-shown', '#node-input-item-shown'), wanted, query);
        assert.deepEqual(await unnamed(editor.form), []);
        const item = page.locator('#remote-printing-item-row [data-query]:visible');
        const words = await item.evaluateAll((spans) =>
          spans.map((span) => (span as unknown as { dataset: { query: string } }).dataset.query),
        );
        assert.deepEqual(words, wanted.includes('#node-input-item-shown') ? [query, query] : [], 'label and tip');
      }
      await page.selectOption('#node-input-query', 'print-job');
      await editor.assertAccessible('printing query');
      await editor.fillTyped('cluster', 'env', 'PRINTER');
      await editor.fillTyped('item', 'msg', 'payload.job.clusterJobId');
      await editor.saveAndDeploy();
      await editor.assertSaved(id, {
        ...{ type: 'remote-printing-query', name: '', account, query: 'print-job', cluster: 'PRINTER' },
        ...{ clusterType: 'env', item: 'payload.job.clusterJobId', itemType: 'msg' },
      });
    });

    it('starts with the documented defaults', async () => {
      const file = await editor.add('remote-printing-library-file');
      await editor.page.selectOption('#node-input-account', account);
      await editor.done();
      const query = await editor.add('remote-printing-query');
      await editor.page.selectOption('#node-input-account', account);
      await editor.saveAndDeploy();
      const { operation, kind, source, file: path, fileType, fileId, fileIdType, timeout } = await editor.saved(file);
      assert.deepEqual(
        [operation, kind, source, path, fileType, fileId, fileIdType, timeout],
        ['upload', 'file', 'file', '', 'str', '', 'str', 600],
      );
      const { query: asked, cluster, clusterType, item, itemType } = await editor.saved(query);
      assert.deepEqual([asked, cluster, clusterType, item, itemType], ['clusters', '', 'str', '', 'str']);
    });
  });
}
