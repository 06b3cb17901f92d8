import assert from 'node:assert/strict';
import type { Locator, Page, Request } from 'playwright-core';

import { OVERRIDABLE_CALLS } from '../../lib/rules/paths';
import { startSimulator, type Simulator } from '../../simulator';
import { Editor, editors, lockedBelowPath, unnamed, settleAfterEach } from './editor';

for (const runtime of editors) {
  describe(`account dialog in ${runtime.name}, below a path and behind a password`, function () {
    let editor: Editor;
    let simulator: Simulator;

    before(async () => {
      simulator = await startSimulator({ paths: { printJobs: 'GET /connect/v1/jobs' } });
      const { authUrl, apiUrl, client } = simulator;
      editor = await Editor.start(runtime, {
        settings: lockedBelowPath,
        flows: [
          { id: 'tab', type: 'tab', label: 'test' },
          { id: 'account', type: 'remote-printing-account', service: 'remote', signIn: 'oauth', authUrl, apiUrl },
          { id: 'simulated', type: 'remote-printing-account', service: 'simulator' },
          {
            ...{ id: 'watch', type: 'remote-printing-cluster-status', z: 'tab', x: 100, y: 40, account: 'account' },
            wires: [[], []],
          },
        ],
        credentials: { account: { clientId: client.id, clientSecret: client.secret } },
      });
    });
    after(async () => {
      try {
        await editor.close();
      } finally {
        await simulator.close();
      }
    });
    settleAfterEach(() => editor);

    /** Evaluates a promise of the page repeatedly until its value is truthy. */
    const untilTrue = <T>(promise: string) =>
      editor.page.evaluate<T>(`(async () => {
        for (;;) {
          const value = await ${promise};
          if (value) return value;
          await new Promise(requestAnimationFrame);
        }
      })()`);
    const state = (words: string) => editor.page.locator('#remote-printing-state', { hasText: words }).waitFor();
    const said = (words: string) => editor.page.locator('#remote-printing-said', { hasText: words }).waitFor();

    async function fillIn(): Promise<void> {
      const { authUrl, apiUrl, client } = simulator;
      const fields = { authUrl, apiUrl, clientId: client.id, clientSecret: client.secret };
      for (const [name, value] of Object.entries(fields)) await editor.page.fill(`#node-config-input-${name}`, value);
    }

    /** Clicks through the service's pages until the redirect to the callback; returns that address. */
    async function signIn(): Promise<string> {
      const opened = editor.context.waitForEvent('page');
      await editor.page.locator('#remote-printing-sign-in').press('Enter');
      const page = await opened;
      await page.getByRole('button', { name: 'Sign in' }).click();
      const approve = page.getByRole('button', { name: 'Approve' });
      const proceed = page.getByRole('button', { name: 'Continue' });
      await approve.or(proceed).waitFor();
      if (await proceed.isVisible()) await proceed.click();
      const isCallback = (request: Request) => request.url().includes('/callback?');
      const answered = Promise.race([
        page.waitForEvent('requestfinished', isCallback),
        page.waitForEvent('requestfailed', isCallback),
      ]);
      await approve.click();
      const address = (await answered).url();
      await page.close({ runBeforeUnload: true });
      return address;
    }

    /** Signs in at the service's page; returns that page, before anything is approved. */
    async function atService(): Promise<Page> {
      const opened = editor.context.waitForEvent('page');
      await editor.page.click('#remote-printing-sign-in');
      const service = await opened;
      await service.getByRole('button', { name: 'Sign in' }).click();
      await service
        .getByRole('button', { name: 'Continue' })
        .or(service.getByRole('button', { name: 'Refuse' }))
        .waitFor();
      return service;
    }

    /** Begins a sign-in and refuses it at the service; returns when the dialog shows that. */
    async function refuse(): Promise<void> {
      const service = await atService();
      const proceed = service.getByRole('button', { name: 'Continue' });
      if (await proceed.isVisible()) await proceed.click();
      const wrong = editor.page.locator('#remote-printing-state-error');
      assert.equal(await wrong.textContent(), '');
      await service.getByRole('button', { name: 'Refuse' }).click();
      await wrong.filter({ hasText: 'The sign-in was refused' }).waitFor();
      await service.close();
    }

    /** Opens the dialog of the deployed account, signed in. */
    async function openSignedIn(): Promise<void> {
      await editor.openAlone('account');
      const shown = editor.page.locator('#remote-printing-state');
      await shown.filter({ hasText: /signed/ }).waitFor();
      if (((await shown.textContent()) ?? '').includes('signed out')) await signIn();
      await state('signed in as');
    }

    it('has a name for every field, including folded parts', async () => {
      await editor.openAlone();
      for (const summary of await editor.page.locator('summary').all()) await summary.click();
      assert.deepEqual(await unnamed(editor.form), []);
      await editor.assertAccessible('account, everything unfolded');
      await editor.page.selectOption('#node-config-input-signIn', 'token');
      assert.deepEqual(await unnamed(editor.form), []);
      await editor.assertAccessible('account with an API token');
      assert.equal(await editor.page.isVisible('#remote-printing-sign-in'), false);
      const noAccount = editor.page.getByText('No account? Choose the simulator');
      assert.equal(await noAccount.isVisible(), true);
      await editor.page.selectOption('#node-config-input-service', 'simulator');
      assert.equal(await editor.page.isVisible('#node-config-input-apiUrl'), false);
      assert.equal(await noAccount.isVisible(), false);
      await state('simulated');
      await editor.assertAccessible('account of the simulator');
    });

    it("explains why it can't sign in, and closes the window that it opened", async () => {
      await editor.openAlone();
      const opened = editor.context.waitForEvent('page');
      await editor.page.click('#remote-printing-sign-in');
      const page = await opened;
      if (!page.isClosed()) await page.waitForEvent('close');
      await said('account host');
      assert.match((await editor.page.textContent('#remote-printing-said')) ?? '', /\w+ .*\.$/);
      await state('signed out');
    });

    it('signs in before the first deploy, and deploys without secrets', async () => {
      const { page } = editor;
      const watch = await editor.add('remote-printing-cluster-status');
      const account = await editor.addAccount();
      await fillIn();
      const callback = `${editor.nodeRed.url}remote-printing/callback`;
      assert.equal(await page.inputValue('#remote-printing-redirect'), callback);
      assert.ok((await signIn()).startsWith(`${callback}?`));
      await state('signed in as');
      await said('press Deploy');
      await editor.saveAccount();
      await editor.saveAndDeploy();
      const saved = await editor.saved(account);
      assert.equal(saved.authUrl, simulator.authUrl);
      assert.doesNotMatch(JSON.stringify(saved), new RegExp(`${simulator.client.secret}|token`));
      await editor.open(watch);
      await editor.openAccount();
      await state('signed in as');
    });

    it('shows in place that a sign-in was refused or failed, or that its window was closed', async () => {
      const { page } = editor;
      await editor.openAlone();
      await fillIn();
      const wrong = page.locator('#remote-printing-state-error');
      for (const turn of [1, 2]) {
        await refuse();
        if (turn === 1) await editor.assertAccessible('account, refused');
        assert.equal(await page.isVisible('#remote-printing-authorize'), false);
      }
      await (await atService()).close();
      await said('window seems to be closed');
      await page.fill('#node-config-input-clientSecret', 'wrong');
      await signIn();
      await wrong.filter({ hasText: 'Client ID or secret is wrong' }).waitFor();
      await state('signed out');
      await page.fill('#node-config-input-clientSecret', simulator.client.secret);
      await signIn();
      await state('signed in as');
      assert.equal(await wrong.textContent(), '');
    });

    it('lists the workspaces of the signed-in user, and fills in the chosen one', async () => {
      const { page } = editor;
      await openSignedIn();
      const choices = await editor.offers('node-config-input-organizationId');
      await choices.filter({ hasText: '(current)' }).waitFor();
      await choices.nth(1).click();
      const chosen = await page.inputValue('#node-config-input-organizationId');
      assert.ok(
        simulator.users.some(({ organizations }) => organizations.some((one) => one.organizationId === chosen)),
      );
      await page.fill('#node-config-input-organizationId', 'another');
      await page.press('#node-config-input-organizationId', 'Tab');
      await page.locator('#remote-printing-workspace-note', { hasText: 'not in this list' }).waitFor();
    });

    it('copies diagnostics without secrets, and the redirect address', async () => {
      await editor.context.grantPermissions(['clipboard-read', 'clipboard-write']);
      await openSignedIn();
      const copied = async (button: string) => {
        // Only a page in front may use the clipboard, and the sign-in opened another one.
        await editor.page.bringToFront();
        await untilTrue(`navigator.clipboard.writeText('').then(() => true, () => false)`);
        await editor.page.click(button);
        return untilTrue<string>(`navigator.clipboard.readText().catch(() => '')`);
      };
      const diagnostics = await copied('#remote-printing-diagnostics');
      assert.match(diagnostics, /"versions"/);
      assert.ok(!diagnostics.includes(simulator.client.secret));
      assert.equal(
        await copied('#remote-printing-redirect-copy'),
        await editor.page.inputValue('#remote-printing-redirect'),
      );
    });

    /** Runs the connection test until its end. By key, since a click misses a button that new text moves meanwhile. */
    async function runTest(): Promise<void> {
      await editor.page.getByRole('button', { name: 'Test connection' }).press('Enter');
      await editor.page.locator('#remote-printing-test:enabled').waitFor();
    }

    /** Runs the connection test; returns the named line of its result. */
    async function testConnection(name: string) {
      await runTest();
      for (const summary of await folded().all()) await summary.click();
      const line = editor.page
        .locator('#remote-printing-checks li')
        .filter({ has: editor.page.getByText(name, { exact: true }) });
      await line.waitFor();
      return line;
    }
    const folded = () => editor.page.locator('#remote-printing-checks summary');
    const mark = (line: Locator, word: string) => line.getByRole('img', { name: word, exact: true }).waitFor();
    const noted = (words: string | RegExp) =>
      editor.page.locator('#remote-printing-test-note', { hasText: words }).waitFor();

    it('tests the connection before the first deploy, and names missing settings', async () => {
      const { page } = editor;
      await editor.openAlone();
      await runTest();
      await noted('API host');
      assert.equal(await page.locator('#remote-printing-checks li').count(), 0);
      await fillIn();
      await mark(await testConnection('API host'), 'works');
      await mark(await testConnection('Sign-in'), 'does not work');
      await mark(await testConnection('Printers'), 'not checked');
      await noted('Problems found: 1.');
      await editor.assertAccessible('account, signed out, after a test');
      await signIn();
      await state('signed in as');
      await mark(await testConnection('Printers'), 'works');
      assert.deepEqual(await unnamed(editor.form), []);
      await editor.assertAccessible('account, signed in, after a test');
      const workspace = simulator.users[0]!.organizations[0]!.organizationName;
      const holder = page.locator('#remote-printing-holder');
      await holder.filter({ hasText: `Workspace: ${workspace}.` }).waitFor();
      await holder.filter({ hasText: /Valid until .*\d:\d\d.*, renewed automatically\./ }).waitFor();
    });

    it('lists the faults of a test first, and folds the rest', async () => {
      const { page } = editor;
      await editor.openAlone();
      await fillIn();
      await runTest();
      const shown = page.locator('#remote-printing-checks li:visible');
      assert.deepEqual(await shown.locator('b').allTextContents(), ['Sign-in']);
      assert.deepEqual(
        (await folded().allTextContents()).map((words) => words.replace(/\d+/, 'N')),
        ['✓ Works: N. Show the lines.', '– Not checked or inconclusive: N. Show the lines.'],
      );
      await folded().first().click();
      await shown.filter({ hasText: 'Clock' }).waitFor();
      await signIn();
      await state('signed in as');
      simulator.faults.add({ endpoint: 'clusters', status: 403, times: 'always' });
      await runTest();
      simulator.faults.clear();
      assert.match((await shown.allTextContents())[0] ?? '', /Printers/);
      const marks = await shown.getByRole('img').allTextContents();
      assert.deepEqual([...marks].sort().reverse(), marks, 'faults first, then corrections by a button');
    });

    it('removes what it said about earlier settings at the next change', async () => {
      const { page } = editor;
      await editor.openAlone();
      const noAccount = page.getByText('No account? Choose the simulator');
      assert.equal(await noAccount.isVisible(), true);
      await fillIn();
      assert.equal(await noAccount.isVisible(), false);
      await page.fill('#node-config-input-clientSecret', 'wrong');
      await signIn();
      const wrong = page.locator('#remote-printing-state-error');
      await wrong.filter({ hasText: 'Client ID or secret is wrong' }).waitFor();
      await runTest();
      await noted('Problems found');
      await page.fill('#node-config-input-clientSecret', simulator.client.secret);
      assert.equal(await wrong.textContent(), '');
      assert.equal(await page.textContent('#remote-printing-test-note'), '');
      assert.equal(await page.locator('#remote-printing-checks li').count(), 0);
    });

    it('removes an error of before when a test finds no problems', async () => {
      const { page } = editor;
      await openSignedIn();
      await refuse();
      const printJobs = JSON.stringify({ printJobs: 'GET /connect/v1/jobs' });
      await page.evaluate(`$('#node-config-input-paths').val('${printJobs}').trigger('change').trigger('blur')`);
      await runTest();
      await noted('No problems found.');
      assert.equal(await page.textContent('#remote-printing-state-error'), '');
    });

    it('names missing settings in terms of the open dialog', async () => {
      const { page } = editor;
      await editor.openAlone();
      for (const [name, value] of [
        ['authUrl', simulator.authUrl],
        ['apiUrl', simulator.apiUrl],
        ['clientId', 'id'],
        ['clientSecret', 'secret'],
      ] as const) {
        await runTest();
        await noted(/fill it in\.$/);
        assert.doesNotMatch((await page.textContent('#remote-printing-test-note')) ?? '', /open the account/);
        await page.fill(`#node-config-input-${name}`, value);
      }
    });

    it("shows the workspace's name after a switch, and explains why another one has no name", async () => {
      const { page } = editor;
      await openSignedIn();
      const [home, away] = simulator.users[0]!.organizations;
      const holder = page.locator('#remote-printing-holder');
      await holder.filter({ hasText: `Workspace: ${home!.organizationName}.` }).waitFor();
      const choices = await editor.offers('node-config-input-organizationId');
      await choices.filter({ hasText: 'name unknown until you sign in to it' }).click();
      assert.equal(await page.inputValue('#node-config-input-organizationId'), away!.organizationId);
      await signIn();
      await holder.filter({ hasText: `Workspace: ${away!.organizationName}.` }).waitFor();
      const both = await editor.offers('node-config-input-organizationId');
      await both.filter({ hasText: home!.organizationName }).waitFor();
      await both.filter({ hasText: away!.organizationName }).waitFor();
      assert.equal(await both.filter({ hasText: 'name unknown' }).count(), 0);
      await both.filter({ hasText: home!.organizationName }).click();
      await signIn();
      await holder.filter({ hasText: `Workspace: ${home!.organizationName}.` }).waitFor();
      await editor.page.fill('#node-config-input-organizationId', '');
    });

    it('shows signed out while another service, host or kind of sign-in is selected', async () => {
      const { page } = editor;
      await openSignedIn();
      const { authUrl } = simulator;
      await page.fill('#node-config-input-authUrl', 'https://another.example');
      await page.press('#node-config-input-authUrl', 'Tab');
      await state('signed out');
      await page.fill('#node-config-input-authUrl', authUrl);
      await page.press('#node-config-input-authUrl', 'Tab');
      await state('signed in as');
      await page.selectOption('#node-config-input-signIn', 'token');
      await state('signed out');
      await page.selectOption('#node-config-input-signIn', 'oauth');
      await state('signed in as');
    });

    it('shows signed out when a simulator account is switched to the real service', async () => {
      const { page } = editor;
      await editor.openAlone('simulated');
      await state('simulated');
      await page.selectOption('#node-config-input-service', 'remote');
      await state('signed out');
      assert.equal(await page.textContent('#remote-printing-holder'), '');
      assert.equal(await page.isEnabled('#remote-printing-sign-out'), false);
      await fillIn();
      await signIn();
      await state('signed in as');
      const name = simulator.users[0]!.organizations[0]!.organizationName;
      await page.locator('#remote-printing-holder', { hasText: `Workspace: ${name}.` }).waitFor();
      await page.click('#remote-printing-sign-out');
      await state('signed out');
      await editor.cancelAccount(0);
    });

    it('adds a suggested path to the overrides, and uses it', async () => {
      const { page } = editor;
      await openSignedIn();
      const hostile = '<img src=x onerror="document.title=1">&amp;';
      simulator.world.setName(1, hostile);
      const paths = async () => JSON.parse(await page.inputValue('#node-config-input-paths')) as object;
      const set = (value: string) =>
        page.evaluate(`$('#node-config-input-paths').val('${value}').trigger('change').trigger('blur')`);
      await mark(await testConnection('Path printJobs'), 'does not work');
      assert.match((await (await testConnection('Printers')).textContent()) ?? '', /<img src=x .*>&amp;/);
      assert.equal(await page.locator('.red-ui-tray img[src=x]').count(), 0);
      const use = page.getByRole('button', { name: 'Use GET /connect/v1/jobs' });
      await set('{');
      await use.click();
      await noted('Correct the paths');
      await set('{"maintenance":"GET /connect/v1/clusters/{cluster_id}/maintenance/pending"}');
      await use.click();
      await noted('Test again');
      assert.deepEqual(await paths(), {
        maintenance: 'GET /connect/v1/clusters/{cluster_id}/maintenance/pending',
        printJobs: 'GET /connect/v1/jobs',
      });
      assert.equal(await page.getByLabel('list of print jobs').isVisible(), true);
      await mark(await testConnection('Path printJobs'), 'works');
      await mark(await testConnection('Description of printJobs'), 'works');
      await noted('No problems found.');
      assert.equal(await use.count(), 0);
    });

    it('shows the paths in a table with default and certainty, and marks an invalid one', async () => {
      const { page } = editor;
      const account = await editor.openAlone();
      await fillIn();
      for (const summary of await page.locator('summary').all()) await summary.click();
      const rows = page.locator('#remote-printing-paths tbody tr');
      const known = { documented: 'documented', sample: 'from sample code', inferred: 'likely' };
      const shown = await Promise.all(
        (await rows.all()).map(async (row) => [
          await row.locator('code').textContent(),
          await row.locator('.remote-printing-call').textContent(),
          await row.locator('td').last().textContent(),
        ]),
      );
      const calls = Object.entries(OVERRIDABLE_CALLS).map(([name, { call, sure }]) => [name, call, known[sure]]);
      assert.deepEqual(shown, calls);

      const field = page.getByLabel('list of print jobs');
      await field.fill('nonsense');
      assert.equal(await field.getAttribute('aria-invalid'), 'true');
      assert.equal(await field.getAttribute('title'), 'printJobs must look like "GET /path/{cluster_id}"');
      await field.fill(' GET /connect/v1/jobs ');
      assert.equal(await field.getAttribute('aria-invalid'), 'false');
      assert.equal(await page.isVisible('#node-config-input-paths'), false);
      await editor.saveAccount(0);
      const saved = () => page.evaluate(`RED.nodes.node('${account}').paths`);
      assert.equal(await saved(), '{"printJobs":"GET /connect/v1/jobs"}');
      await editor.openAlone(account);
      for (const summary of await page.locator('summary').all()) await summary.click();
      assert.equal(await field.inputValue(), 'GET /connect/v1/jobs');
      await field.fill('');
      await editor.saveAccount(0);
      assert.equal(await saved(), '{}');
    });

    it('lists the printers by name, never as HTML', async () => {
      await openSignedIn();
      await editor.saveAccount(0);
      await editor.open('watch');
      await (await editor.offers('node-input-cluster-shown')).nth(1).click();
      const hostile = '<img src=x onerror="document.title=1">&amp;';
      simulator.world.setName(await editor.page.inputValue('#node-input-cluster'), hostile);
      await editor.done();
      await editor.open('watch');
      const choices = await editor.offers('node-input-cluster-shown');
      await choices.filter({ hasText: hostile }).waitFor();
      assert.equal(await editor.page.locator('.red-ui-tray img[src=x]').count(), 0);
      await editor.done();
    });

    it('keeps its two buttons apart, side by side and stacked', async () => {
      const { page } = editor;
      await openSignedIn();
      const boxOf = async (name: string) => {
        const box = await page.locator(`#remote-printing-sign-${name}`).boundingBox();
        assert.ok(box, `no button sign-${name}`);
        return box;
      };
      const beside = [await boxOf('in'), await boxOf('out')] as const;
      assert.ok(beside[1].x - beside[0].x - beside[0].width >= 4, JSON.stringify(beside));
      const buttons = page.locator('.remote-printing-buttons:has(#remote-printing-sign-in)');
      await buttons.evaluate((element: unknown) => {
        (element as { style: { width: string } }).style.width = '1px';
      });
      const stacked = [await boxOf('in'), await boxOf('out')] as const;
      assert.ok(stacked[1].y - stacked[0].y - stacked[0].height >= 4, JSON.stringify(stacked));
      await editor.saveAccount(0);
    });

    it('turns the metrics on, behind a token that no flow contains', async () => {
      const { page, nodeRed } = editor;
      const answer = async () => {
        const headers = { accept: 'text/plain', authorization: 'Bearer a-metrics-token' };
        return (await nodeRed.fetch('remote-printing/metrics', { headers })).status;
      };
      assert.equal(await answer(), 404);
      await editor.openAlone('simulated');
      await page.click('#remote-printing-metrics summary');
      await page.check('#node-config-input-metrics');
      await page.fill('#node-config-input-metricsToken', 'a-metrics-token');
      await editor.saveAccount(0);
      await editor.deploy();
      const saved = await editor.saved('simulated');
      assert.equal(saved.metrics, true);
      assert.doesNotMatch(JSON.stringify(saved), /a-metrics-token/);
      assert.equal(await answer(), 200);
    });

    it('signs out, and keeps the stored secret', async () => {
      await openSignedIn();
      await editor.page.click('#remote-printing-sign-out');
      await state('signed out');
      await signIn();
      await state('signed in as');
      await editor.saveAccount(0);
    });

    it("accepts a pasted address when the browser can't return", async () => {
      const { page } = editor;
      await editor.openAlone();
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
      await said('The pasted address is that of another sign-in, has already been used or is too old');
      await page.fill('#remote-printing-answer', 'http://127.0.0.1:9/callback');
      await page.click('#remote-printing-complete');
      await said('The pasted address has no code in it');
      await state('signed in as');
    });

    it('polls the state during a sign-in, and stops when the dialog closes', async () => {
      const { page } = editor;
      await page.clock.install();
      await editor.openAlone();
      await fillIn();
      const opened = editor.context.waitForEvent('page');
      await page.click('#remote-printing-sign-in');
      await (await opened).getByRole('button', { name: 'Sign in' }).waitFor();
      const isQuestion = (url: string) => /remote-printing\/accounts\/\w+$/.test(new URL(url).pathname);
      await Promise.all([page.waitForRequest((request) => isQuestion(request.url())), page.clock.runFor(2000)]);
      await editor.cancelAccount(0);
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
