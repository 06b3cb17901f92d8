import assert from 'node:assert/strict';
import vm from 'node:vm';
import { OVERRIDABLE } from '../../lib/rules/paths';
import { ERROR_CODES } from '../../lib/service/errors';
import type { JobState } from '../../lib/service/job-words';
import type { EventType } from '../../lib/events/print-event';
import type { QueueEventType } from '../../lib/queue/model/types';
import { addAdminEndpoints } from '../../nodes/shared/admin';
import { forms as htmlFiles } from '../../scripts/form.mjs';
import { readNodes } from '../../scripts/nodes.mjs';
import { textOf } from '../helpers/sources';

const page = textOf('docs/reference.md');
const manifest = JSON.parse(textOf('package.json')) as { name: string; 'node-red': { nodes: Record<string, string> } };

/** Text under a heading that begins with `title`, up to the next heading of the same or a higher level. */
function section(title: string): string {
  const lines = page.split('\n');
  const at = lines.findIndex((line) => /^#+ /.test(line) && line.replace(/^#+ /, '').startsWith(title));
  assert.ok(at >= 0, `no heading ${title}`);
  const depth = lines[at]!.indexOf(' ');
  const end = lines.findIndex((line, next) => next > at && /^#+ /.test(line) && line.indexOf(' ') <= depth);
  return lines.slice(at, end < 0 ? undefined : end).join('\n');
}

/** Rows of the tables in a part of the page, without the header rows. */
function rows(part: string): string[][] {
  return part
    .split('\n')
    .filter((line) => line.startsWith('|'))
    .map((line) => line.split(/(?<!\\)\|/).slice(1, -1))
    .map((cells) => cells.map((cell) => cell.trim()))
    .filter((_, at, lines) => !lines[at]![0]!.startsWith('-') && !lines[at + 1]?.[0]?.startsWith('-'));
}

const spans = (text: string) => [...text.matchAll(/`([^`]+)`/g)].map(([, span]) => span!);

interface Registered {
  category: string;
  defaults: Record<string, { value: unknown }>;
  credentials?: Record<string, { type: string }>;
  inputs?: number;
  outputs?: number;
}

/** Stub for any object that the editor's scripts use while they register. */
const anything: unknown = new Proxy(() => undefined, {
  get: (_, key) => (key === Symbol.toPrimitive ? () => '' : anything),
  apply: () => anything,
});

/** Registered definitions of the forms, by node type. */
function registered(): Record<string, Registered> {
  const found: Record<string, Registered> = {};
  const RED = { nodes: { registerType: (type: string, definition: Registered) => (found[type] = definition) } };
  for (const html of htmlFiles().values())
    for (const [, attributes = '', script = ''] of html.matchAll(/<script([^>]*)>([\s\S]*?)<\/script>/g))
      if (!/text\/html|src=/.test(attributes)) vm.runInNewContext(script, { RED, RemotePrinting: anything });
  return found;
}

/** Defaults of a type's properties in its part of the page, as text. A pair is a value and its type. */
function described(part: string): Record<string, string> {
  const properties: Record<string, string> = {};
  for (const [names = '', value = ''] of rows(part)) {
    const [name = '', type] = spans(names);
    const [first = '', second = 'str'] = value.startsWith(',') ? ['', ...spans(value)] : spans(value);
    properties[name] = first;
    if (type !== undefined) properties[type] = second;
  }
  return properties;
}

const forms = registered();
const types = Object.keys(manifest['node-red'].nodes);
const account = 'remote-printing-account';
const parents = new Map(readNodes().map(({ type, definition }) => [type, definition.parent]));
const alternatives = new Map(readNodes().map(({ type, definition }) => [type, definition.alternative]));
/** Numbered headings of the configuration nodes. */
const NUMBERS = new Map([
  [account, '2.1'],
  ['remote-printing-queue', '2.3'],
]);

describe('docs/reference.md', () => {
  it('names the package and its node types', () => {
    assert.ok(spans(section('1. Package')).includes(manifest.name));
    const named = [...section('2. Node types').matchAll(/^#{3,4} .*`(remote-printing-[\w-]+)`/gm)].map(
      ([, type]) => type,
    );
    assert.deepEqual(named.sort(), [...types].sort());
    assert.deepEqual(Object.keys(forms).sort(), [...types].sort());
  });

  for (const type of types) {
    const heading = NUMBERS.get(type) ?? `\`${type}\``;

    it(`lists each property of ${type} with its default`, () => {
      const { defaults, category } = forms[type]!;
      const { name, [parents.get(type) ?? '']: link, [alternatives.get(type) ?? '']: other, ...own } = defaults;
      assert.equal(name?.value, '');
      assert.equal(link?.value, type === account ? undefined : '');
      assert.equal(other?.value, alternatives.get(type) ? '' : undefined);
      assert.equal(category, NUMBERS.has(type) ? 'config' : /`([^`]+)`/.exec(section('2. Node types'))![1]);
      const values = Object.entries(own).map(([property, { value }]) => [property, String(value)]);
      assert.deepEqual(described(section(heading)), Object.fromEntries(values));
    });

    if (NUMBERS.has(type)) continue;
    it(`states the number of inputs and outputs of ${type}`, () => {
      const [, inputs, outputs] = /\((\d) inputs?, (\d) outputs?/.exec(section(heading))!;
      assert.deepEqual([forms[type]!.inputs, forms[type]!.outputs], [Number(inputs), Number(outputs)]);
    });
  }

  it('lists the credentials of the account', () => {
    const [line = ''] = /Credentials: .*/.exec(section('2.1'))!;
    const named = [...line.matchAll(/`(\w+)` \((\w+)\)/g)].map(([, name, kind]) => [name, kind]);
    const { clientId, clientSecret, apiToken, metricsToken, ...more } = forms[account]!.credentials!;
    const kinds = [clientId, clientSecret, apiToken, metricsToken].map((credential) => credential?.type);
    assert.deepEqual(named, [
      ['clientId', kinds[0]],
      ['clientSecret', kinds[1]],
      ['apiToken', kinds[2]],
      ['metricsToken', kinds[3]],
    ]);
    assert.deepEqual(Object.keys(more), []);
  });

  it('lists every error code', () => {
    assert.deepEqual(
      rows(section('4. Errors')).flatMap(([code = '']) => spans(code)),
      [...ERROR_CODES],
    );
  });

  it('lists every event', () => {
    // TypeScript requires every event here.
    const events: Record<EventType, true> = {
      'job.queued': true,
      'job.started': true,
      'job.paused': true,
      'job.resumed': true,
      'job.attention': true,
      'job.progress': true,
      'job.stalled': true,
      'job.finished': true,
      'job.failed': true,
      'job.aborted': true,
      'job.ended': true,
      'printer.online': true,
      'printer.offline': true,
      'printer.status': true,
      'printer.fault': true,
      'firmware.available': true,
      'maintenance.due': true,
      'material.changed': true,
      'printcore.changed': true,
      'material.low': true,
      'plate.awaiting': true,
      'cluster.added': true,
      'cluster.removed': true,
      'cluster.rebound': true,
    };
    const named = rows(section('3.3')).flatMap(([type = '']) => spans(type));
    assert.deepEqual(named.sort(), Object.keys(events).sort());
  });

  it('lists every event of a print queue', () => {
    const events: Record<QueueEventType, true> = {
      'item.queued': true,
      'item.approval': true,
      'item.cancelled': true,
      'item.finished': true,
      'item.failed': true,
      'item.reopened': true,
      'item.blocked': true,
      'item.unblocked': true,
      'item.overdue': true,
      'order.finished': true,
      'print.dispatched': true,
      'print.started': true,
      'print.finished': true,
      'print.rejected': true,
      'print.failed': true,
      'print.aborted': true,
      'print.recalled': true,
      'print.unknown': true,
      'print.extra': true,
      'plate.awaiting': true,
      'plate.cleared': true,
      'material.short': true,
      'queue.idle': true,
    };
    const named = rows(section('3.6')).flatMap(([type = '']) => spans(type));
    assert.deepEqual(
      named.filter((name) => name.includes('.')),
      Object.keys(events),
    );
  });

  it('lists every action of a print queue', () => {
    const { action } = readNodes().find(({ name }) => name === 'print-queue')!.definition.properties;
    assert.ok(action?.kind === 'select');
    const named = rows(section('3.6')).flatMap(([name = '']) => spans(name));
    assert.deepEqual(
      named.filter((name) => !name.includes('.')),
      action.options.filter((name) => name !== 'msg.action'),
    );
  });

  it('lists every state of a job', () => {
    const states: Record<JobState, true> = {
      waiting: true,
      approval: true,
      attention: true,
      preparing: true,
      printing: true,
      paused: true,
      finishing: true,
      finished: true,
      failed: true,
      aborted: true,
      unknown: true,
    };
    const [, list = ''] = /`state` ours: ([^.]+)\./.exec(section('3.2'))!;
    assert.deepEqual(spans(list).sort(), Object.keys(states).sort());
  });

  it('lists every admin endpoint with its permission', () => {
    const found: string[] = [];
    const add =
      (method: string) =>
      (path: string, ...handlers: unknown[]) =>
        found.push([`${method} ${path.slice(1)}`, ...handlers.filter((one) => typeof one === 'string')].join(' '));
    const RED = {
      auth: { needsPermission: (permission: string) => permission },
      httpAdmin: { get: add('GET'), post: add('POST') },
    };
    addAdminEndpoints(RED as never);
    const named = rows(section('5. Admin endpoints')).map(([call = '', permission = '']) =>
      [call.replaceAll('`', ''), ...spans(permission).filter((span) => span.startsWith('remote-printing.'))].join(' '),
    );
    assert.deepEqual(named.sort(), found.sort());
  });

  it('lists every name that `paths` can override', () => {
    const [first = ''] = section('7. Names for').split('Values are');
    const named = spans(first.split('\n').slice(1).join('\n'));
    assert.deepEqual(named, [...OVERRIDABLE]);
  });
});
