import assert from 'node:assert/strict';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';

import { settings } from '../helpers/settings';
import { account, Editor, editors, unnamed, settleAfterEach } from './editor';

/** Reads an example flow. */
const example = (name: string) =>
  JSON.parse(readFileSync(join(__dirname, `../../examples/${name}.json`), 'utf8')) as { id: string; type: string }[];

/** Examples whose node types are all installed. */
const examples = readdirSync(join(__dirname, '../../examples'))
  .map((file) => file.replace(/\.json$/, ''))
  .filter((name) => example(name).every(({ type }) => !type.startsWith('ui-')));

const channels = (color: string) => (color.match(/[\d.]+/g) ?? []).slice(0, 3).map(Number);

/** Distance of two CSS colours in RGB. */
const distance = (one: string, other: string) =>
  Math.hypot(...channels(one).map((value, at) => value - channels(other)[at]!));

/** Contrast of two CSS colours (WCAG 2.2). */
function contrast(one: string, other: string): number {
  const luminance = (color: string) => {
    const [red, green, blue] = channels(color).map((value) => {
      const share = value / 255;
      return share <= 0.04045 ? share / 12.92 : ((share + 0.055) / 1.055) ** 2.4;
    }) as [number, number, number];
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue;
  };
  const [dark, light] = [luminance(one), luminance(other)].sort((a, b) => a - b) as [number, number];
  return (light + 0.05) / (dark + 0.05);
}

for (const runtime of editors) {
  describe(`the editor in ${runtime.name}`, function () {
    let editor: Editor;

    before(async () => (editor = await Editor.withAccount(runtime)));
    settleAfterEach(() => editor);

    it('shows the nodes in the palette by name, in the order of use, in one category, with their icons', async () => {
      const category = editor.page.locator('.red-ui-palette-category', { hasText: 'remote printing' });
      const labels = await category.locator('.red-ui-palette-label').allTextContents();
      const words = labels.map((label) => label.replace(/\s+/g, ' '));
      assert.deepEqual(words, [
        'print queue',
        'upload and print',
        'cluster status',
        'job control',
        'webcam snapshot',
        'report generator',
        'library file',
        'printing query',
        'printing request',
        'print board',
        'home assistant',
        'assistant tools',
      ]);
      const icons = await editor.page.evaluate<string[]>(
        `Promise.all($('.red-ui-palette-node[data-palette-type^=remote-printing] .red-ui-palette-icon').toArray().map((icon) =>
          fetch(getComputedStyle(icon).backgroundImage.slice(5, -2)).then((answer) => answer.ok && answer.text())))`,
      );
      assert.equal(icons.length, 12);
      for (const icon of icons) assert.match(icon, /^<svg/);
    });

    it('labels a node that was saved without its settings as one with their defaults', async () => {
      const labels = await editor.page.evaluate<{ type: string; bare: string; full: string }[]>(`(() => {
        const { printerName } = RemotePrinting;
        // Some labels name what the node does only together with its printer.
        RemotePrinting.printerName = () => 'Printer 1';
        const all = RED.nodes.registry.getNodeTypes().filter((type) => type.startsWith('remote-printing-')).map((type) => {
          const _def = RED.nodes.getType(type);
          const defaults = Object.fromEntries(Object.entries(_def.defaults).map(([name, { value }]) => [name, value]));
          const labelOf = (settings) => _def.label.call({ type, _def, _: _def._, ...settings, path: '/x' });
          return { type, bare: labelOf({}), full: labelOf(defaults) };
        });
        RemotePrinting.printerName = printerName;
        return all;
      })()`);
      assert.equal(labels.length, 14);
      for (const { type, bare, full } of labels) assert.equal(bare, full, type);
    });

    it('has icons that differ in most of what they paint, at the size of the palette', async () => {
      const alike = await editor.page.evaluate<string[]>(`(async () => {
        const icons = $('.red-ui-palette-node[data-palette-type^=remote-printing]').toArray().map((node) => ({
          type: node.dataset.paletteType,
          url: getComputedStyle($(node).find('.red-ui-palette-icon')[0]).backgroundImage.slice(5, -2),
        }));
        const painted = await Promise.all(icons.map(async ({ url }) => {
          const image = Object.assign(new Image(), { src: url });
          await image.decode();
          const context = Object.assign(document.createElement('canvas'), { width: 20, height: 30 }).getContext('2d');
          context.drawImage(image, 0, 0, 20, 30);
          return context.getImageData(0, 0, 20, 30).data.filter((_, at) => at % 4 === 3);
        }));
        const sum = (pairs, of) => pairs.reduce((total, pair) => total + of(...pair), 0);
        return icons.flatMap(({ type }, one) => icons.slice(one + 1).flatMap((other, after) => {
          const pairs = [...painted[one]].map((alpha, at) => [alpha, painted[one + 1 + after][at]]);
          const share = sum(pairs, Math.min) / sum(pairs, Math.max);
          return share > 0.5 ? [type + ' and ' + other.type + ': ' + share.toFixed(2)] : [];
        }));
      })()`);
      assert.deepEqual(alike, [], 'the shares that two icons have in common');
    });

    it('has a colour that no other node has, and on which its label is legible', async () => {
      const { page } = editor;
      const seen = async () =>
        page.evaluate<{ ours: string[]; others: string[]; label: string; view: string }>(`(() => {
          const colorsOf = (nodes) => [...new Set(nodes.toArray().map((node) => getComputedStyle(node).backgroundColor))];
          const all = $('.red-ui-palette-node');
          const ours = all.filter('[data-palette-type^=remote-printing]');
          const root = getComputedStyle(document.documentElement);
          const probe = $('<i>').appendTo('body');
          const shown = (name) => probe.css('color', root.getPropertyValue(name)) && getComputedStyle(probe[0]).color;
          const [label, view] = ['--red-ui-node-label-color', '--red-ui-view-background'].map(shown);
          probe.remove();
          return { ours: colorsOf(ours), others: colorsOf(all.not(ours)), label, view };
        })()`);
      for (const colorScheme of ['light', 'dark'] as const) {
        await page.emulateMedia({ colorScheme });
        // The browser may apply the scheme a frame later.
        await editor.until(`(() => {
          const [red, green, blue] = $('.red-ui-palette-header').css('color').match(/\\d+/g).map(Number);
          return (red + green + blue > 384) === ${colorScheme === 'dark'};
        })()`);
        const { ours, others, label, view } = await seen();
        const [color = '', ...more] = ours;
        assert.deepEqual(more, [], 'one colour for all');
        assert.ok(others.length > 5, 'the other nodes were not read');
        for (const other of others)
          assert.ok(distance(color, other) > 40, `${color} is too close to ${other}, the colour of another node`);
        assert.ok(contrast(color, label) >= 4.5, `label on node, ${colorScheme}: ${contrast(color, label)}`);
        assert.ok(contrast(color, view) >= 2, `node on the view, ${colorScheme}: ${contrast(color, view)}`);
      }
      await page.emulateMedia({ colorScheme: 'light' });
    });

    // Node-RED 5 of the tests finds the dashboard beside itself.
    const itIn4 = runtime.name.includes('4.1') ? it : () => undefined;
    itIn4('offers to install the pack that an imported example needs', async () => {
      const { page } = editor;
      const nodes = JSON.stringify(example('05-wall-dashboard'));
      const count = () => page.evaluate<number>('RED.nodes.createCompleteNodeSet().length');
      const before = await count();
      await page.evaluate(`RED.notifications.hide = false; RED.view.importNodes(${nodes}, { generateIds: true })`);
      const offer = page.locator('.red-ui-notification', { hasText: '@flowfuse/node-red-dashboard' });
      await offer.getByRole('button', { name: 'Install all' }).waitFor();
      await page.evaluate('RED.history.pop(); RED.notifications.hide = true');
      // It has no button that only closes it, and would cover the dialogs.
      await offer.evaluate((shown) => shown.remove());
      assert.equal(await count(), before);
    });

    it('has no fault to mark in an imported example', async () => {
      const { page } = editor;
      for (const name of examples) {
        const nodes = JSON.stringify(example(name));
        await page.evaluate(`RED.view.importNodes(${nodes}, { generateIds: true, addFlow: false })`);
        const faults = await page.evaluate(
          `RED.nodes.filterNodes({}).filter(({ valid }) => !valid).map(({ type, name, validationErrors }) => [type, name, validationErrors])`,
        );
        await page.evaluate('RED.history.pop()');
        assert.deepEqual(faults, [], name);
      }
    });

    it('finds the nodes in the palette by common search words', async () => {
      const { page } = editor;
      const search = page.locator('#red-ui-palette-search input[type=text]').last();
      const all = 12;
      const found = { '3d': all, gcode: 3, camera: 2, printer: all, pause: 1, webcam: 1, print: all };
      for (const [word, count] of Object.entries(found)) {
        await search.fill(word);
        await search.press('End');
        await editor.until(`$('.red-ui-palette-node[data-palette-type^=remote-printing]:visible').length === ${count}`);
      }
      await search.fill('');
      await search.press('End');
      await editor.until(`$('.red-ui-palette-node[data-palette-type=inject]').is(':visible')`);
      const label = page.locator('.red-ui-palette-node[data-palette-type=remote-printing-job-control]');
      assert.equal((await label.textContent())?.replace(/\s+/g, ' ').trim(), 'job control');
    });

    it('saves the settings of cluster status', async () => {
      const id = await editor.add('remote-printing-cluster-status');
      assert.deepEqual(await unnamed(editor.form), []);
      await editor.assertAccessible('cluster status');
      await editor.page.selectOption('#node-input-account', account);
      await editor.page.fill('#node-input-name', 'watch it');
      await editor.fillTyped('cluster', 'flow', 'printer');
      await editor.page.fill('#node-input-interval', '30');
      await editor.page.selectOption('#node-input-send', 'changes');
      await editor.page.fill('#node-input-milestones', '10, 90');
      await editor.page.fill('#node-input-stalled', '20');
      await editor.page.fill('#node-input-lowMaterial', '15');
      await editor.page.fill('#node-input-plateWait', '45');
      await editor.saveAndDeploy();
      await editor.assertSaved(id, {
        ...{ type: 'remote-printing-cluster-status', name: 'watch it', account, cluster: 'printer' },
        ...{ clusterType: 'flow', interval: '30', send: 'changes', milestones: '10, 90', lowMaterial: '15' },
        ...{ stalled: '20', plateWait: '45' },
      });
    });

    for (const [type, name] of [
      ['remote-printing-cluster-status', 'stalled'],
      ['remote-printing-upload-and-print', 'timeout'],
    ] as const)
      it(`shows and keeps the name of an environment variable in ${name} of ${type}`, async () => {
        const id = await editor.add(type);
        await editor.page.selectOption('#node-input-account', account);
        await editor.saveAndDeploy();
        await editor.page.evaluate(`RED.nodes.node('${id}').${name} = '\${MINUTES}'`);
        await editor.open(id);
        assert.equal(await editor.page.inputValue(`#node-input-${name}`), '${MINUTES}');
        await editor.page.fill('#node-input-name', 'changed');
        await editor.saveAndDeploy();
        await editor.assertSaved(id, { type, name: 'changed', account, [name]: '${MINUTES}' });
      });

    it('keeps the name of an environment variable, and the text false, in a checkbox', async () => {
      const { page } = editor;
      const type = 'remote-printing-upload-and-print';
      const id = await editor.add(type);
      await page.selectOption('#node-input-account', account);
      await editor.saveAndDeploy();
      await page.evaluate(
        `Object.assign(RED.nodes.node('${id}'), { print: '\${PRINT}', dryRun: 'false', startNow: 'true' })`,
      );
      await editor.open(id);
      assert.equal(await page.inputValue('#node-input-print'), '${PRINT}');
      assert.ok(await page.locator('#node-input-cluster-shown').isVisible(), 'a printer may be needed');
      await page.fill('#node-input-name', 'changed');
      await editor.saveAndDeploy();
      const { print, dryRun, startNow } = await editor.saved(id);
      assert.deepEqual([print, dryRun, startNow], ['${PRINT}', false, true]);
    });

    it('saves an amount in its own unit that is typed over an environment variable', async () => {
      const { page } = editor;
      const id = await editor.add('remote-printing-upload-and-print');
      await page.selectOption('#node-input-account', account);
      await editor.saveAndDeploy();
      await page.evaluate(`RED.nodes.node('${id}').timeout = '\${SECONDS}'`);
      await editor.open(id);
      const unit = page.locator('#node-input-timeout + span');
      assert.deepEqual(
        [await page.inputValue('#node-input-timeout-shown'), await unit.isVisible()],
        ['${SECONDS}', false],
      );
      await page.fill('#node-input-timeout-shown', '10');
      assert.equal(await unit.isVisible(), true);
      await editor.saveAndDeploy();
      assert.equal((await editor.saved(id)).timeout, '600');
    });

    it('marks no node for a field that it hides, and marks it once the field is shown', async () => {
      const { page } = editor;
      const id = await editor.add('remote-printing-upload-and-print');
      await page.selectOption('#node-input-account', account);
      await page.selectOption('#node-input-source', 'payload');
      await editor.saveAndDeploy();
      await page.evaluate(`Object.assign(RED.nodes.node('${id}'), { file: '/a.gcode', fileType: 'msg' })`);
      await editor.open(id);
      const isMarked = `$('#node-input-file').hasClass('input-error')`;
      assert.equal(await page.evaluate(isMarked), false);
      await page.selectOption('#node-input-source', 'file');
      assert.equal(await page.evaluate(isMarked), true);
      await page.selectOption('#node-input-source', 'payload');
      await editor.done();
      assert.equal(await page.evaluate(`RED.nodes.node('${id}').valid`), true);
    });

    it('takes imported nodes without properties for valid', async () => {
      const types = ['home-assistant', 'board', 'assistant', 'upload-and-print', 'library-file', 'job-control'];
      await editor.import(
        types.map((type, at) => ({
          ...{ id: `bare-${type}`, type: `remote-printing-${type}`, account, x: 200, y: 60 * at + 40, wires: [[], []] },
        })),
      );
      const wrong = await editor.page.evaluate(
        `${JSON.stringify(types)}.filter((type) => !RED.nodes.node('bare-' + type).valid)`,
      );
      assert.deepEqual(wrong, []);
      // Node-RED 4.1 attaches imported nodes to the pointer.
      await editor.reload();
    });

    it('saves the settings of upload and print, and shows only the fields in use', async () => {
      const { page } = editor;
      const id = await editor.add('remote-printing-upload-and-print');
      assert.deepEqual(await unnamed(editor.form), []);
      await editor.assertAccessible('upload and print');
      await page.selectOption('#node-input-account', account);
      await editor.fillTyped('file', 'env', 'PRINT_FILE');
      await editor.fillTyped('jobName', 'jsonata', 'payload.name & ".gcode"');
      await editor.fillTyped('printKey', 'msg', 'order.id');
      await page.selectOption('#node-input-waitFor', 'finished');
      for (const name of ['startNow', 'compress', 'reuseUpload', 'dryRun']) await page.click(`#node-input-${name}`);
      await page.fill('#node-input-timeout-shown', '2');
      await page.uncheck('#node-input-print');
      assert.equal(await page.isVisible('#node-input-cluster-shown'), false);
      await page.selectOption('#node-input-source', 'payload');
      assert.equal(await page.isVisible('#node-input-file-shown'), false);
      await editor.saveAndDeploy();
      await editor.assertSaved(id, {
        ...{ type: 'remote-printing-upload-and-print', name: '', account, cluster: '', clusterType: 'str' },
        ...{ source: 'payload', file: 'PRINT_FILE', fileType: 'env', jobName: 'payload.name & ".gcode"' },
        ...{ jobNameType: 'jsonata', printKey: 'order.id', printKeyType: 'msg', print: false, startNow: false },
        ...{ waitFor: 'finished', compress: true, reuseUpload: false, dryRun: true, timeout: '120' },
      });
    });

    it('offers stored jobs with size, date and uploader, and hides what concerns uploads only', async () => {
      const { page } = editor;
      const id = await editor.add('remote-printing-upload-and-print');
      await page.selectOption('#node-input-account', account);
      const ofUploads = ['file-shown', 'jobName-shown', 'compress', 'reuseUpload'];
      const shown = (name: string) => page.isVisible(`#node-input-${name}`);
      assert.equal(await shown('storedJob-shown'), false);
      await page.selectOption('#node-input-source', 'stored');
      assert.deepEqual(await Promise.all(ofUploads.map(shown)), [false, false, false, false]);
      assert.deepEqual(await unnamed(editor.form), []);
      const choices = await editor.offers('node-input-storedJob-shown');
      assert.equal(await choices.first().locator('b').textContent(), 'from msg.jobId');
      const choice = choices.nth(1);
      assert.match((await choice.textContent()) ?? '', /^\S.* [\d.,]+ [kM]B, .*\d\d:\d\d.*, \S/);
      await editor.assertAccessible('upload and print, while it offers the stored jobs');
      const name = await choice.locator('b').textContent();
      await choice.click();
      await page.focus('#node-input-name');
      assert.equal(await page.locator('#node-input-storedJob-shown-chosen b').textContent(), name);
      await editor.saveAndDeploy();
      const { source, storedJob, storedJobType } = await editor.saved(id);
      assert.deepEqual([source, storedJobType], ['stored', 'str']);
      assert.match(String(storedJob), /^[\w-]{41}[\w=-]{3}$/);
    });

    it('says that a long list of stored jobs goes on, and searches the others', async () => {
      const { page } = editor;
      const listed = (jobId: string, name: string) => ({
        ...{ jobId, name, fileSize: 2_345_678, uploadedAt: '2026-01-31T12:00:00.000Z', uploadedBy: '<b>Ada</b>' },
      });
      const newest = Array.from({ length: 1000 }, (_, n) => listed(`id-${n}`, `part ${n}.gcode`));
      await page.route(/\/stored-jobs\?/, (route) => {
        const search = new URL(route.request().url()).searchParams.get('search');
        return route.fulfill({ json: { answer: search ? [listed('old', `${search} part.gcode`)] : newest } });
      });
      await editor.add('remote-printing-upload-and-print');
      await page.selectOption('#node-input-account', account);
      await page.selectOption('#node-input-source', 'stored');
      const note = page.locator('#remote-printing-storedJob-row .remote-printing-note');
      await note.filter({ hasText: 'This list shows the newest 1000: type to search the others.' }).waitFor();
      const choices = await editor.offers('node-input-storedJob-shown');
      await page.fill('#node-input-storedJob-shown', 'rare');
      await choices.filter({ hasText: 'rare part.gcode 2.3 MB' }).filter({ hasText: '<b>Ada</b>' }).click();
      assert.equal(await page.inputValue('#node-input-storedJob'), 'old');
      await page.focus('#node-input-name');
      assert.equal(await page.locator('#node-input-storedJob-shown-chosen b').textContent(), 'rare part.gcode');
      await page.unroute(/\/stored-jobs\?/);
      await editor.cancel();
    });

    it('saves the settings of printing request', async () => {
      const id = await editor.add('remote-printing-request');
      assert.deepEqual(await unnamed(editor.form), []);
      await editor.assertAccessible('printing request');
      await editor.page.selectOption('#node-input-account', account);
      await editor.page.selectOption('#node-input-method', 'POST');
      await editor.fillTyped('path', 'jsonata', '"/connect/v1/clusters/" & clusterId');
      await editor.saveAndDeploy();
      await editor.assertSaved(id, {
        ...{ type: 'remote-printing-request', name: '', account, method: 'POST' },
        ...{ path: '"/connect/v1/clusters/" & clusterId', pathType: 'jsonata' },
      });
    });

    it('starts with the documented defaults', async () => {
      const id = await editor.add('remote-printing-upload-and-print');
      await editor.page.selectOption('#node-input-account', account);
      await editor.saveAndDeploy();
      const { print, startNow, waitFor, compress, reuseUpload, dryRun, timeout, file, fileType } =
        await editor.saved(id);
      assert.deepEqual(
        { print, startNow, waitFor, compress, reuseUpload, dryRun, timeout, file, fileType },
        {
          ...{ print: true, startNow: true, waitFor: 'dispatched', compress: false, reuseUpload: true },
          ...{ dryRun: false, timeout: 600, file: 'filename', fileType: 'msg' },
        },
      );
    });

    it('preselects the only account, and lists printers of an undeployed account', async () => {
      const { page } = editor;
      await editor.add('remote-printing-cluster-status');
      assert.equal(await page.inputValue('#node-input-account'), account);
      const note = page.locator('.remote-printing-note');
      await page.selectOption('#node-input-account', '_ADD_');
      await note.filter({ hasText: 'Choose an account' }).waitFor();
      await editor.addAccount();
      await page.selectOption('#node-config-input-service', 'simulator');
      await page.fill('#node-config-input-name', 'new one');
      await editor.saveAccount();
      const choices = await editor.offers('node-input-cluster-shown');
      assert.equal(await choices.first().locator('b').textContent(), 'all printers, or msg.clusterId');
      assert.equal(await note.textContent(), '');
    });

    it('finds a printer by name, shows its name, and saves its ID', async () => {
      const { page } = editor;
      const id = await editor.add('remote-printing-cluster-status');
      const field = page.locator('#node-input-cluster-shown');
      const chosen = page.locator('#node-input-cluster-shown-chosen');
      const choices = await editor.offers('node-input-cluster-shown');
      const names = (await choices.locator('b').allTextContents()).slice(1);
      const [first = '', second = ''] = names;
      await choices
        .nth(1)
        .getByRole('img', { name: /^(online|offline)$/ })
        .waitFor();
      await editor.assertAccessible('cluster status, while it offers the printers');
      await choices.nth(1).click();
      const value = await page.inputValue('#node-input-cluster');
      assert.match(value, /^[\w-]{41}[\w=-]{3}$/);
      await page.focus('#node-input-interval');
      assert.equal(await chosen.locator('b').textContent(), first);

      await field.fill(second.slice(1, -1).toUpperCase());
      await choices.filter({ hasText: second }).waitFor();
      await field.press('Escape');
      assert.equal(await choices.first().isVisible(), false);
      assert.equal(await page.evaluate('RED.editor.getEditStack().length'), 1);
      await field.press('ArrowDown');
      await field.press('ArrowDown');
      await field.press('Enter');
      assert.notEqual(await page.inputValue('#node-input-cluster'), value);
      await field.fill(first);
      await page.focus('#node-input-interval');
      assert.equal(await page.inputValue('#node-input-cluster'), value);

      const strange = page.locator('.remote-printing-note', { hasText: 'not in this list' });
      await field.fill('somewhere else');
      await field.press('Tab');
      await strange.waitFor();
      assert.equal(await chosen.isVisible(), false);
      for (const [type, text] of Object.entries({ msg: 'a.b', flow: 'c', global: 'd', env: 'E', jsonata: '"f"' })) {
        await editor.fillTyped('cluster', type, text);
        assert.deepEqual([await choices.first().isVisible(), await strange.isVisible()], [false, false]);
        assert.equal(await page.evaluate(`$('#node-input-cluster').typedInput('value')`), text);
      }
      await editor.fillTyped('cluster', 'str', '');
      await field.fill(second);
      await editor.saveAndDeploy();
      const { cluster, clusterType } = await editor.saved(id);
      assert.match(String(cluster), /^[\w-]{41}[\w=-]{3}$/);
      assert.deepEqual([cluster === value, clusterType], [false, 'str']);
    });

    it('is operable by keyboard, with accessible lists', async () => {
      const { page } = editor;
      await editor.add('remote-printing-upload-and-print');
      const focused = () => page.evaluate<string>('document.activeElement.id');
      const printer = page.getByRole('combobox', { name: 'Printer', exact: true });
      await printer.waitFor();
      await page.focus('#node-input-name');
      const visited: string[] = [];
      while ((await focused()) !== 'node-input-cluster-shown') {
        assert.ok(visited.length < 30, visited.join());
        visited.push(await focused());
        await page.keyboard.press('Tab');
      }
      const fields = ['name', 'account', 'source', 'file-shown', 'jobName-shown', 'print'];
      assert.deepEqual(
        visited.filter((id) => id.startsWith('node-input') && !id.startsWith('node-input-btn')),
        fields.map((name) => `node-input-${name}`),
      );

      const attribute = (name: string) => printer.getAttribute(name);
      assert.equal(await attribute('aria-expanded'), 'false');
      const choices = page.getByRole('listbox', { name: 'Printer' }).getByRole('option');
      await page.keyboard.press('ArrowDown');
      await choices.nth(1).waitFor();
      assert.equal(await attribute('aria-expanded'), 'true');
      const [field, list] = await Promise.all([printer, page.getByRole('listbox')].map((part) => part.boundingBox()));
      assert.deepEqual([list?.x, list?.width], [field?.x, field?.width]);
      const edge = await page.locator('#node-input-name').boundingBox();
      assert.ok(list!.x + list!.width <= edge!.x + edge!.width + 1);
      await page.keyboard.press('ArrowDown');
      await page.keyboard.press('ArrowDown');
      const active = choices.nth(1);
      assert.equal(await attribute('aria-activedescendant'), await active.getAttribute('id'));
      const name = await active.locator('b').textContent();
      await page.keyboard.press('Enter');
      assert.deepEqual([await attribute('aria-expanded'), await attribute('aria-activedescendant')], ['false', null]);
      await page.keyboard.press('Tab');
      const described = page.locator(`[id="${await attribute('aria-describedby')}"]`);
      assert.match((await described.textContent()) ?? '', new RegExp(`${name}`));
    });

    it('labels nodes by their printer, and ports by their purpose', async () => {
      const id = await editor.add('remote-printing-upload-and-print');
      const labelled = (words: string) =>
        editor.page.locator(`[id="${id}"] .red-ui-flow-node-label`, { hasText: words }).waitFor();
      await labelled('upload and print');
      const choice = (await editor.offers('node-input-cluster-shown')).nth(1);
      const printer = (await choice.locator('b').textContent()) ?? '';
      await choice.click();
      await editor.done();
      await labelled(`print on ${printer}`);
      await editor.deploy();
      await editor.reload();
      await labelled(`print on ${printer}`);

      const ports = await editor.page.evaluate<Record<string, string[]>>(`Object.fromEntries(
        RED.nodes.registry.getNodeTypes().filter((type) => /^remote-printing-(?!account$|queue$)/.test(type)).map((type) => {
          const definition = RED.nodes.getType(type);
          const node = { _: (key) => definition._(key) };
          const outputs = Array.from({ length: definition.outputs }, (_, index) => definition.outputLabels.call(node, index));
          return [type, [definition.inputLabels.call(node), ...outputs]];
        }))`);
      assert.equal(Object.keys(ports).length, 12);
      assert.deepEqual(ports['remote-printing-cluster-status'], ['poll now', 'status', 'events']);
      for (const [type, labels] of Object.entries(ports)) {
        assert.equal(new Set(labels).size, labels.length, type);
        for (const words of labels) assert.match(words, /^[a-z ]+$/, type);
      }
    });

    it('shares one account between imported examples, which links to the simulator', async () => {
      const { page } = editor;
      const [first, second] = ['12-print-a-file', '15-printing-queries'].map(example);
      const accounts = `(() => {
        const found = [];
        RED.nodes.eachConfig((node) => { if (node.type === 'remote-printing-account') found.push(node.id); });
        return found;
      })()`;
      const others = await page.evaluate<string[]>(accounts);
      await editor.import(first!);
      // The editor asks about the existing account.
      await page.evaluate('RED.notifications.hide = false');
      await editor.import(second!);
      await page.getByRole('button', { name: 'Import copy' }).click();
      await editor.until(`RED.nodes.filterNodes({ type: 'remote-printing-query' }).length > 0`);
      await page.evaluate('RED.notifications.hide = true');
      const shared = first!.find(({ type }) => type === 'remote-printing-account')!.id;
      assert.deepEqual((await page.evaluate<string[]>(accounts)).sort(), [...others, shared].sort());
      const query = await page.evaluate<string>(`RED.nodes.filterNodes({ type: 'remote-printing-query' })[0].id`);
      assert.equal(await page.evaluate(`RED.nodes.node('${query}').account`), shared);

      await editor.deploy();
      await editor.open(query);
      await editor.openAccount();
      const link = page.getByRole('link', { name: 'Open the simulator' });
      await link.waitFor();
      const opened = editor.context.waitForEvent('page');
      await link.click();
      const simulator = await opened;
      await simulator.getByRole('heading', { name: 'Simulator of the remote printing service' }).waitFor();
      await simulator.close();
    });

    it('says why it lists nothing of an account or a queue that is a property of a subflow', async () => {
      const env = ['account', 'queue'].map((kind) => ({
        ...{ name: kind.toUpperCase(), type: `remote-printing-${kind}`, value: '', ui: { type: 'conf-types' } },
      }));
      const inner = { z: 'subflow', x: 100, y: 100, wires: [[]] };
      await editor.import([
        { id: 'subflow', type: 'subflow', name: 'part', in: [], out: [], env },
        { ...inner, id: 'inner-query', type: 'remote-printing-query', account: '${ACCOUNT}', query: 'cluster-status' },
        { ...inner, id: 'inner-queue', type: 'remote-printing-print-queue', queue: '${QUEUE}', action: 'list' },
      ]);
      // The form offers the properties of the subflow that is shown.
      await editor.page.evaluate(`RED.workspaces.show(RED.nodes.subflow(RED.nodes.filterNodes({}).at(-1).z).id)`);
      const idOf = (type: string) =>
        editor.page.evaluate<string>(`RED.nodes.filterNodes({ type: 'remote-printing-${type}' }).at(-1).id`);
      await editor.open(await idOf('query'));
      await editor.until(`$('.red-ui-tray .remote-printing-note:visible').text().includes('environment variable')`);
      await editor.cancel();
      await editor.open(await idOf('print-queue'));
      const notes = editor.page.locator('.red-ui-tray .remote-printing-note:visible');
      assert.doesNotMatch((await notes.allTextContents()).join(''), /[Dd]eploy/);
      await editor.cancel();
    });

    it('says that a path needs the type string', async () => {
      const { page } = editor;
      const node = {
        ...{ id: 'path', type: 'remote-printing-upload-and-print', z: 'tab', x: 300, y: 100, wires: [[], []], account },
        ...{ source: 'file', file: '/prints/part.gcode', fileType: 'msg' },
      };
      await page.evaluate(`RED.nodes.import(${JSON.stringify([node])})`);
      const errors = await page.evaluate<string[]>(
        `(RED.editor.validateNode(RED.nodes.node('path')), RED.nodes.node('path').validationErrors)`,
      );
      await page.evaluate(`RED.nodes.remove('path')`);
      assert.deepEqual(errors, ['File: looks like a path: choose the type “string” for it']);
    });

    it('validates settings in the browser as the runtime does', async () => {
      const wrong: string[] = [];
      for (const { name, rule, node, good, bad, taken } of settings) {
        const values = [...good, ...bad];
        const verdicts = await editor.page.evaluate<unknown[]>(
          `${JSON.stringify(values)}.map((value) =>
            RemotePrinting.validators.${rule}.call({ _: (key) => key, ...${JSON.stringify(node)} }, value, {}))`,
        );
        for (const [index, value] of values.entries()) {
          const verdict = verdicts[index];
          if ((verdict === true) !== taken(value)) wrong.push(`${rule} ${JSON.stringify(value)}: ${String(verdict)}`);
          else if (verdict !== true) assert.match(String(verdict), new RegExp(`^label\\.${name}: [a-z].* .*`));
        }
      }
      assert.deepEqual(wrong, []);
    });

    it('fills in the defaults of a node that was saved before its properties existed', async () => {
      const { page } = editor;
      const types = await page.evaluate<string[]>(
        `RED.nodes.registry.getNodeTypes().filter((type) => type.startsWith('remote-printing-'))`,
      );
      assert.equal(types.length, 14);
      const place = { z: 'tab', x: 300, y: 100, wires: [] };
      const isConfig = (type: string) => /-(account|queue)$/.test(type) && !type.endsWith('print-queue');
      const old = types.map((type) => ({
        ...{ id: `old-${type}`, type, name: 'old' },
        ...(type.endsWith('print-queue') ? { queue: 'old-remote-printing-queue' } : { account }),
        ...(isConfig(type) ? {} : place),
      }));
      await page.evaluate(`RED.nodes.import(${JSON.stringify(old)})`);
      for (const { id, type } of old) {
        if (isConfig(type)) {
          await editor.openAlone(id, type);
          await editor.saveAccount(0);
        } else {
          await editor.open(id);
          await editor.done();
        }
      }
      for (const { id, type } of old) {
        const values = await page.evaluate<[name: string, saved: string, expected: string][]>(
          `Object.entries(RED.nodes.getType('${type}').defaults).map(([name, { value }]) =>
            [name, String(RED.nodes.node('${id}')[name]), String(value)])`,
        );
        const given = ['name', 'account', 'queue'];
        for (const [name, saved, expected] of values)
          if (!given.includes(name)) assert.equal(saved, expected, `${name} of ${type}`);
      }
    });
  });
}
