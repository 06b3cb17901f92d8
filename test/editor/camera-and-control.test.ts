import assert from 'node:assert/strict';

import { account, Editor, editors, unnamed, settleAfterEach } from './editor';

for (const runtime of editors) {
  describe(`the editor in ${runtime.name}, with webcam snapshot and job control`, function () {
    let editor: Editor;

    before(async () => (editor = await Editor.withAccount(runtime)));
    settleAfterEach(() => editor);

    it('saves the settings of webcam snapshot', async () => {
      const { page } = editor;
      const id = await editor.add('remote-printing-webcam-snapshot');
      assert.deepEqual(await unnamed(editor.form), []);
      await editor.assertAccessible('webcam snapshot');
      await page.selectOption('#node-input-account', account);
      await editor.fillTyped('cluster', 'flow', 'printer');
      await editor.fillTyped('printer', 'msg', 'payload.printerId');
      await page.fill('#node-input-timeout', '30');
      assert.equal(await page.inputValue('#node-input-maxBytes-shown'), '20');
      await page.fill('#node-input-maxBytes-shown', '0');
      await page.locator('#node-input-maxBytes-shown.input-error').waitFor();
      await page.fill('#node-input-maxBytes-shown', '1.5');
      await page.locator('#node-input-maxBytes-shown:not(.input-error)').waitFor();
      await editor.saveAndDeploy();
      await editor.assertSaved(id, {
        ...{ type: 'remote-printing-webcam-snapshot', name: '', account, cluster: 'printer', clusterType: 'flow' },
        ...{ printer: 'payload.printerId', printerType: 'msg', timeout: '30', maxBytes: '1572864' },
      });
    });

    it('saves the settings of job control, and offers every action', async () => {
      const { page } = editor;
      const id = await editor.add('remote-printing-job-control');
      assert.deepEqual(await unnamed(editor.form), []);
      await editor.assertAccessible('job control');
      await page.selectOption('#node-input-account', account);
      const offered = await page
        .locator('#node-input-action option')
        .evaluateAll((options) => options.map((option) => (option as unknown as { value: string }).value));
      assert.deepEqual(offered, [
        ...['pause', 'resume', 'abort', 'remove', 'force', 'move', 'duplicate', 'stop'],
        'msg.action',
      ]);
      await page.selectOption('#node-input-action', 'msg.action');
      await editor.fillTyped('job', 'jsonata', 'payload.job.clusterJobId');
      await page.fill('#node-input-timeout', '90');
      await editor.saveAndDeploy();
      await editor.assertSaved(id, {
        ...{ type: 'remote-printing-job-control', name: '', account, cluster: '', clusterType: 'str' },
        ...{ job: 'payload.job.clusterJobId', jobType: 'jsonata', action: 'msg.action', timeout: '90' },
      });
    });

    it('offers print jobs, print files and the printers of a group by name', async () => {
      const { page } = editor;
      const choose = async (field: string) => {
        const choice = (await editor.offers(`node-input-${field}-shown`)).nth(1);
        const name = await choice.locator('b').textContent();
        await choice.click();
        await page.focus('#node-input-name');
        assert.equal(await page.locator(`#node-input-${field}-shown-chosen b`).textContent(), name);
        return page.inputValue(`#node-input-${field}`);
      };
      await editor.add('remote-printing-job-control');
      await choose('cluster');
      await editor.fillTyped('job', 'str', '');
      assert.match(await choose('job'), /^[\w-]+/);
      await editor.cancel();
      await editor.add('remote-printing-webcam-snapshot');
      await choose('cluster');
      assert.match(await choose('printer'), /^[\w-]+/);
      await editor.cancel();
      await editor.add('remote-printing-query');
      await page.selectOption('#node-input-query', 'stored-job');
      assert.match(await choose('item'), /^[\w-]+/);
      await editor.cancel();
      await editor.add('remote-printing-library-file');
      await page.selectOption('#node-input-operation', 'info');
      await page.selectOption('#node-input-kind', 'job');
      assert.match(await choose('fileId'), /^[\w-]+/);
    });

    it('ignores a list of printers that arrives after the dialog was closed', async () => {
      const { page } = editor;
      let release = () => {};
      const held = new Promise<void>((resolve) => (release = resolve));
      const asked = page.waitForRequest(/\/clusters(\?|$)/);
      await page.route(/\/clusters(\?|$)/, (route) => held.then(() => route.continue()));
      await editor.add('remote-printing-webcam-snapshot');
      await page.selectOption('#node-input-account', account);
      await asked;
      await editor.done();
      const answered = page.waitForResponse(/\/clusters(\?|$)/);
      release();
      await answered;
      // The answer takes effect within two frames.
      await page.evaluate('new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))');
      await page.unroute(/\/clusters(\?|$)/);
    });

    it('starts with the documented defaults', async () => {
      const camera = await editor.add('remote-printing-webcam-snapshot');
      await editor.page.selectOption('#node-input-account', account);
      await editor.done();
      const control = await editor.add('remote-printing-job-control');
      await editor.page.selectOption('#node-input-account', account);
      await editor.saveAndDeploy();
      const { timeout, maxBytes, printer, printerType } = await editor.saved(camera);
      assert.deepEqual([timeout, maxBytes, printer, printerType], [60, 20971520, '', 'str']);
      const { action, job, jobType, timeout: limit } = await editor.saved(control);
      assert.deepEqual([action, job, jobType, limit], ['pause', 'clusterJobId', 'msg', 60]);
    });
  });
}
