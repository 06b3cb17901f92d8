import assert from 'node:assert/strict';

import { account, Editor, editors, unnamed, settleAfterEach } from './editor';

for (const runtime of editors) {
  describe(`the forms of the print queue in ${runtime.name}`, function () {
    let editor: Editor;

    before(async () => (editor = await Editor.withAccount(runtime)));
    settleAfterEach(() => editor);

    const list = () => editor.page.locator('.remote-printing-list li');
    /** Adds a print queue node and opens the dialog of a new queue. */
    const addQueue = async () => {
      const node = await editor.add('remote-printing-print-queue');
      const queue = await editor.addAccount('queue');
      await list().first().waitFor();
      return { node, queue };
    };
    const saved = async (id: string) => {
      await editor.saveAccount();
      await editor.saveAndDeploy();
      return editor.saved(id);
    };

    it('saves the defaults of a queue, with the only account preselected', async () => {
      const { node, queue } = await addQueue();
      assert.equal(await editor.page.inputValue('#node-config-input-account'), account);
      assert.deepEqual(await unnamed(editor.form), []);
      // The buttons in the row of the account are Node-RED's own.
      const accounts = editor.page.locator('#node-config-input-account');
      await editor.assertAccessible('print queue', editor.form.filter({ hasNot: accounts }));
      await saved(queue);
      await editor.assertSaved(queue, {
        ...{ type: 'remote-printing-queue', account },
        ...{ retries: '0', stagger: '0', maxPrinting: '0' },
      });
      await editor.assertSaved(node, { type: 'remote-printing-print-queue', queue });
    });

    it('lets users choose printers by check boxes in their order, and give them tags as words', async () => {
      const { page } = editor;
      const { queue } = await addQueue();
      const names = await list().locator('b').allTextContents();
      const note = page.locator('.remote-printing-note', { hasText: 'every printer of the account' });
      await note.waitFor();
      await list().nth(0).getByRole('checkbox').check();
      await list().nth(1).getByRole('checkbox').check();
      assert.equal(await note.count(), 0);
      assert.equal(await list().getByRole('button').first().isVisible(), false);
      await page.getByLabel(`Tags of ${names[2]}`).fill('food-safe,  big food-safe');
      await page.selectOption('#node-config-input-choose', 'list');
      await list().nth(1).getByRole('button', { name: 'Move up' }).click();
      assert.deepEqual(await list().locator('b').allTextContents(), [names[1], names[0], ...names.slice(2)]);
      const { printers, tags, choose } = await saved(queue);
      const [second, first] = JSON.parse(String(printers)) as string[];
      assert.ok(first && second && first !== second);
      const [[tagged, words] = []] = Object.entries(JSON.parse(String(tags)) as Record<string, string[]>);
      assert.deepEqual([words, choose], [['food-safe', 'big'], 'list']);
      assert.ok(tagged && ![first, second].includes(tagged));

      await editor.openAlone(queue, 'remote-printing-queue');
      await list().first().waitFor();
      assert.deepEqual(await list().locator('b').allTextContents(), [names[1], names[0], ...names.slice(2)]);
      assert.equal(await page.getByLabel(`Tags of ${names[2]}`).inputValue(), 'food-safe big');
      await list().nth(0).getByRole('checkbox').uncheck();
      await editor.saveAccount(0);
      await editor.deploy();
      assert.deepEqual(JSON.parse(String((await editor.saved(queue)).printers)), [first]);
    });

    it('shows printers and tags as text while the account can’t be asked', async () => {
      const { page } = editor;
      const { queue } = await addQueue();
      await page.selectOption('#node-config-input-account', '_ADD_');
      await page.locator('.remote-printing-note', { hasText: 'Choose an account' }).waitFor();
      assert.equal(await list().first().isVisible(), false);
      await page.fill('#node-config-input-printers', '["gone"]');
      await page.fill('#node-config-input-tags', '{"gone":["old"]}');
      await page.selectOption('#node-config-input-account', account);
      await list().filter({ hasText: 'not in the account' }).waitFor();
      assert.equal(await list().first().getByRole('checkbox').isChecked(), true);
      const { printers, tags } = await saved(queue);
      assert.deepEqual([printers, tags], ['["gone"]', '{"gone":["old"]}']);
    });

    it('checks hours while they are typed, and says whether a print may start now', async () => {
      const { page } = editor;
      const { queue } = await addQueue();
      const note = (field: string) => page.locator(`#node-config-input-${field} + .remote-printing-note`);
      await note('hours').filter({ hasText: 'now: may start' }).waitFor();
      await page.fill('#node-config-input-hours', 'Mon-Fry 08:00');
      await note('hours').filter({ hasText: 'must look like Mon-Fri' }).waitFor();
      // The editor marks a field on key-up.
      await page.press('#node-config-input-hours', 'End');
      await page.locator('#node-config-input-hours.input-error').waitFor();
      await page.fill('#node-config-input-hours', 'Mon-Sun 00:00-24:00');
      await note('hours').filter({ hasText: 'now: may start' }).waitFor();
      const day = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'][(new Date().getDay() + 2) % 7];
      await page.fill('#node-config-input-staffed', `${day} 09:30-10:00`);
      await note('staffed')
        .filter({ hasText: `next staffed at ${day}` })
        .waitFor();
      const { hours, staffed } = await saved(queue);
      assert.deepEqual([hours, staffed], ['Mon-Sun 00:00-24:00', `${day} 09:30-10:00`]);
    });

    it('saves prices and times in familiar units', async () => {
      const { page } = editor;
      const { queue } = await addQueue();
      const prices = page.locator('.remote-printing-prices');
      await prices.getByLabel('Currency').fill('EUR');
      await prices.getByLabel('Per hour of printing').fill('1.2');
      await prices.getByLabel('Another material').fill('PLA');
      await prices.getByRole('button', { name: 'Add' }).click();
      await prices.getByLabel('Per kilogram of PLA').fill('25');
      await prices.getByLabel('Per kilogram of others').fill('40');
      await prices.getByLabel('Another material').fill('ABS');
      await prices.getByRole('button', { name: 'Add' }).click();
      await prices.getByRole('button', { name: 'Remove ABS' }).click();
      await page.fill('#node-config-input-startWithin-shown', '0');
      await page.fill('#node-config-input-turnaround-shown', '2.5');
      await page.fill('#node-config-input-retries', '2');
      const { prices: given, startWithin, turnaround, retries } = await saved(queue);
      assert.deepEqual(JSON.parse(String(given)), { currency: 'EUR', hour: 1.2, kilogram: { PLA: 25, '*': 40 } });
      assert.deepEqual([startWithin, turnaround, retries], ['0', '150', '2']);
      await editor.openAlone(queue, 'remote-printing-queue');
      assert.equal(await prices.getByLabel('Per kilogram of PLA').inputValue(), '25');
      assert.equal(await page.inputValue('#node-config-input-startWithin-shown'), '0');
      await editor.cancelAccount(0);
    });

    it('shows only the fields of the action, with what it reads', async () => {
      const { page } = editor;
      await editor.add('remote-printing-print-queue');
      assert.deepEqual(await unnamed(editor.form), []);
      await editor.assertAccessible('print queue node');
      const visible = async () => {
        const labels = await editor.form.locator('label:visible').allTextContents();
        return labels.map((label) => label.trim()).filter((label) => label !== '');
      };
      const add = ['Source', 'File', 'Job name', 'Queue key', 'Copies', 'Priority', 'Requirement', 'Continue'];
      assert.deepEqual(await visible(), ['Name', 'Queue', 'Action', ...add, 'Timeout']);
      await page.selectOption('#node-input-source', 'stored');
      assert.deepEqual((await visible()).slice(3, 6), ['Source', 'Queue key', 'Copies']);
      const tip = page.locator('.form-tips:visible span:visible');
      const tips = new Set<string>();
      const actions = await page
        .locator('#node-input-action option')
        .evaluateAll((options) => options.map((option) => (option as unknown as { value: string }).value));
      for (const action of actions) {
        await page.selectOption('#node-input-action', action);
        if (!['add', 'msg.action'].includes(action))
          assert.deepEqual(await visible(), ['Name', 'Queue', 'Action', 'Timeout']);
        assert.equal(await tip.count(), 1);
        tips.add((await tip.textContent()) ?? '');
      }
      assert.equal(tips.size, 16);
    });

    it('saves the settings of the flow node, and shows the state of its queue', async () => {
      const { page } = editor;
      const { node, queue } = await addQueue();
      await editor.saveAccount();
      await page.locator('.remote-printing-note', { hasText: 'Deploy the queue' }).waitFor();
      await editor.fillTyped('copies', 'num', '3');
      await editor.fillTyped('priority', 'msg', 'urgent');
      await page.evaluate(`$('#node-input-require').typedInput('value', '{"tags":["big"]}')`);
      await page.selectOption('#node-input-waitFor', 'finished');
      await editor.saveAndDeploy();
      await editor.assertSaved(node, {
        ...{ type: 'remote-printing-print-queue', queue, copies: '3', copiesType: 'num' },
        ...{ priority: 'urgent', priorityType: 'msg', require: '{"tags":["big"]}', requireType: 'json' },
        waitFor: 'finished',
      });
      await editor.open(node);
      await page.locator('.remote-printing-note', { hasText: 'Waiting: 0. In progress: 0. Blocked: 0.' }).waitFor();
      await editor.cancel();
    });
  });
}
