import assert from 'node:assert/strict';

import { startSimulator, type Simulator } from '../../simulator';
import { Editor, editors, lockedBelowPath, unnamed } from './editor';

for (const runtime of editors) {
  describe(`account dialog in ${runtime.name}, below a path and behind a password`, function () {
    this.timeout(30_000);
    let editor: Editor;
    let simulator: Simulator;
    let account: string;
    let flowNode: string;

    before(async () => {
      simulator = await startSimulator();
      editor = await Editor.start(runtime, lockedBelowPath);
    });
    after(async () => {
      await editor.close();
      await simulator.close();
    });
    afterEach(() => assert.deepEqual(editor.problems.splice(0), []));

    const state = (words: string) => editor.page.locator('#remote-printing-state', { hasText: words }).waitFor();
    const said = (words: string) => editor.page.locator('#remote-printing-said', { hasText: words }).waitFor();

    async function fillIn(): Promise<void> {
      const { authUrl, apiUrl, client } = simulator;
      const fields = { authUrl, apiUrl, clientId: client.id, clientSecret: client.secret };
      for (const [name, value] of Object.entries(fields)) await editor.page.fill(`#node-config-input-${name}`, value);
    }

    /** Clicks through the service's pages until it sends the browser back. */
    async function signIn(): Promise<string> {
      const opened = editor.context.waitForEvent('page');
      await editor.page.locator('#remote-printing-sign-in').press('Enter');
      const page = await opened;
      await page.getByRole('button', { name: 'Sign in' }).click();
      const approve = page.getByRole('button', { name: 'Approve' });
      const goOn = page.getByRole('button', { name: 'Go on' });
      await approve.or(goOn).waitFor();
      if (await goOn.isVisible()) await goOn.click();
      const answered = page.waitForRequest(/\/callback\?/);
      await approve.click();
      const address = (await answered).url();
      await page.close({ runBeforeUnload: true });
      return address;
    }

    it('every field has a name, also in the parts that are folded up', async () => {
      flowNode = await editor.add('remote-printing-cluster-status');
      account = await editor.addAccount();
      for (const summary of await editor.page.locator('summary').all()) await summary.click();
      assert.deepEqual(await unnamed(editor.form), []);
      await editor.page.selectOption('#node-config-input-signIn', 'token');
      assert.deepEqual(await unnamed(editor.form), []);
      assert.equal(await editor.page.isVisible('#remote-printing-sign-in'), false);
      await editor.page.selectOption('#node-config-input-service', 'simulator');
      assert.equal(await editor.page.isVisible('#node-config-input-apiUrl'), false);
      await state('simulated');
      await editor.page.selectOption('#node-config-input-service', 'remote');
      await editor.page.selectOption('#node-config-input-signIn', 'oauth');
    });

    it('says why it can not sign in, and closes the window that it opened', async () => {
      const opened = editor.context.waitForEvent('page');
      await editor.page.click('#remote-printing-sign-in');
      const page = await opened;
      if (!page.isClosed()) await page.waitForEvent('close');
      assert.match((await editor.page.textContent('#remote-printing-said')) ?? '', /\w+ .*\.$/);
      await state('not deployed yet');
    });

    it('signs in before the first deploy, by the address that this browser knows', async () => {
      const { page } = editor;
      await fillIn();
      const callback = `${editor.nodeRed.url}remote-printing/callback`;
      assert.equal(await page.inputValue('#remote-printing-redirect'), callback);
      assert.ok((await signIn()).startsWith(`${callback}?`));
      await state('signed in as');
      await said('press Deploy');
    });

    it('is saved without its secrets and still signed in after the deploy', async () => {
      await editor.saveAccount();
      await editor.done();
      await editor.deploy();
      const saved = await editor.saved(account);
      assert.equal(saved.authUrl, simulator.authUrl);
      assert.doesNotMatch(JSON.stringify(saved), new RegExp(`${simulator.client.secret}|token`));
      await editor.open(flowNode);
      await editor.openAccount();
      await state('signed in as');
      const workspaces = editor.page.locator('#remote-printing-workspace option');
      await workspaces.nth(1).waitFor({ state: 'attached' });
      await editor.page.selectOption('#remote-printing-workspace', { index: 1 });
      const chosen = await editor.page.inputValue('#node-config-input-organizationId');
      assert.ok(
        simulator.users.some(({ organizations }) => organizations.some((one) => one.organizationId === chosen)),
      );
      await editor.page.fill('#node-config-input-organizationId', '');
      await editor.saveAccount();
    });

    it('copies what a bug report needs, without secrets', async () => {
      await editor.context.grantPermissions(['clipboard-read', 'clipboard-write']);
      await editor.openAccount();
      const copied = async (button: string) => {
        await editor.page.evaluate(`navigator.clipboard.writeText('')`);
        await editor.page.click(button);
        // The answer comes when it comes; the limit of the test is the limit of this, too.
        let words = '';
        while (words === '') words = await editor.page.evaluate<string>('navigator.clipboard.readText()');
        return words;
      };
      const diagnostics = await copied('#remote-printing-diagnostics');
      assert.match(diagnostics, /"versions"/);
      assert.ok(!diagnostics.includes(simulator.client.secret));
      assert.equal(
        await copied('#remote-printing-redirect-copy'),
        await editor.page.inputValue('#remote-printing-redirect'),
      );
      await editor.saveAccount();
    });

    it('lists the printers by their names, which are never read as HTML', async () => {
      const second = editor.page.locator('#node-input-cluster-choice option').nth(1);
      const hostile = '<img src=x onerror="document.title=1">&amp;';
      simulator.world.setName((await second.getAttribute('value')) ?? '', hostile);
      await editor.page.click('#node-input-cluster-refresh');
      const option = editor.page.locator('#node-input-cluster-choice option', { hasText: hostile });
      await option.waitFor({ state: 'attached' });
      assert.equal(await editor.page.locator('.red-ui-tray img[src=x]').count(), 0);
    });

    it('signs out, with the stored secret left where it is', async () => {
      await editor.openAccount();
      await state('signed in as');
      await editor.page.click('#remote-printing-sign-out');
      await state('signed out');
      await signIn();
      await state('signed in as');
      await editor.saveAccount();
      await editor.done();
    });

    it('takes the pasted address where the browser can not come back', async () => {
      const { page } = editor;
      await page.clock.install();
      await editor.add('remote-printing-cluster-status');
      await editor.addAccount();
      await fillIn();
      for (const summary of await page.locator('summary').all()) await summary.click();
      await page.fill('#node-config-input-redirectUri', 'http://127.0.0.1:9/callback');
      assert.equal(await page.inputValue('#remote-printing-redirect'), 'http://127.0.0.1:9/callback');
      const address = await signIn();
      await page.fill('#remote-printing-answer', 'nothing like it');
      await page.click('#remote-printing-complete');
      await said('address');
      await page.fill('#remote-printing-answer', address);
      await page.click('#remote-printing-complete');
      await state('signed in as');
      await page.fill('#remote-printing-answer', address);
      await page.click('#remote-printing-complete');
      await said('again');
    });

    it('asks for the state while the dialog is open, and no more once it is closed', async () => {
      const { page } = editor;
      const isQuestion = (url: string) => /remote-printing\/accounts\/\w+$/.test(new URL(url).pathname);
      await Promise.all([page.waitForRequest((request) => isQuestion(request.url())), page.clock.runFor(2000)]);
      await page.click('#node-config-dialog-cancel');
      await page.locator('#remote-printing-state').waitFor({ state: 'detached' });
      let asked = 0;
      page.on('request', (request) => {
        if (isQuestion(request.url())) asked++;
      });
      await page.clock.runFor(10_000);
      await page.evaluate(`$.get('settings')`);
      assert.equal(asked, 0);
    });
  });
}
