import assert from 'node:assert/strict';

import { startSimulator, type Simulator } from '../../simulator';
import { Editor, editors, settleAfterEach } from './editor';

for (const runtime of editors) {
  describe(`account dialog in ${runtime.name}, below the ingress of Home Assistant`, function () {
    let editor: Editor;
    let simulator: Simulator;

    before(async () => {
      simulator = await startSimulator({ autoApprove: true });
      const { authUrl, apiUrl, client } = simulator;
      editor = await Editor.start(runtime, {
        settings: { httpAdminRoot: '/api/hassio_ingress/Ab_c-1' },
        flows: [
          { id: 'tab', type: 'tab', label: 'test' },
          { id: 'account', type: 'remote-printing-account', service: 'remote', signIn: 'oauth', authUrl, apiUrl },
        ],
        credentials: { account: { clientId: client.id, clientSecret: client.secret } },
      });
      // The ingress admits only requests that start at Home Assistant; this imitates its strict cookie.
      await editor.context.route('**/remote-printing/callback*', (route) => route.fulfill({ status: 401 }));
    });
    after(async () => {
      try {
        await editor.close();
      } finally {
        await simulator.close();
      }
    });
    settleAfterEach(() => editor);

    it('offers to paste the address, and signs in with it', async () => {
      const { page } = editor;
      await editor.openAlone('account');
      await page.locator('#remote-printing-paste-why', { hasText: 'through Home Assistant' }).waitFor();
      await editor.assertAccessible('account, below the ingress');
      const opened = editor.context.waitForEvent('page');
      await page.click('#remote-printing-sign-in');
      const service = await opened;
      await service.waitForURL('**/remote-printing/callback?*');
      await page.fill('#remote-printing-answer', service.url());
      await service.close();
      await page.click('#remote-printing-complete');
      await page.locator('#remote-printing-state', { hasText: 'signed in as' }).waitFor();
      await editor.cancelAccount(0);
    });

    it('offers an API token', async () => {
      const { page } = editor;
      await editor.openAlone('account');
      await page.click('#remote-printing-use-token button');
      await page.locator('#node-config-input-apiToken').waitFor();
      assert.equal(await page.inputValue('#node-config-input-signIn'), 'token');
      await editor.cancelAccount(0);
    });
  });
}
