import { readRedirect, readSettings } from '../../lib/account/settings';
import { readRules } from '../../lib/queue/model/rules';
import { readRange } from '../../lib/report/ranges';
import { PrintingError } from '../../lib/service/errors';
import { parseMilestones } from '../../lib/events/edges';
import { checkSettings, settingsOf } from '../../nodes/shared/settings';

/** A setting that the form validates during input and the runtime validates at use. */
export interface JudgedSetting {
  name: string;
  /** The form's rule as an HTML file requests it, below `RemotePrinting.validators`. */
  rule: string;
  /** Other properties of the node. */
  node: Record<string, string>;
  /** Whether the runtime accepts the value unchanged. */
  taken: (value: string) => boolean;
  good: string[];
  bad: string[];
}

const ACCOUNT = {
  service: 'remote',
  signIn: 'oauth',
  authUrl: 'https://account.example',
  apiUrl: 'https://api.example',
  clientId: 'client',
  clientSecret: 'secret',
};

function isAccepted(read: () => unknown): boolean {
  try {
    read();
    return true;
  } catch (error) {
    if (error instanceof PrintingError) return false;
    throw error;
  }
}

const inAccount = (name: string, node: Record<string, string> = ACCOUNT) => ({
  name,
  node,
  taken: (value: string) => isAccepted(() => readSettings({ ...node, [name]: value })),
});
const inQueue = (name: string) => ({
  name,
  node: {},
  taken: (value: string) => isAccepted(() => readRules({ [name]: value })),
});
const inNode = (name: string, least?: number) => {
  const property = {
    kind: 'amount',
    default: 30,
    unit: '',
    meaning: '',
    ...(least !== undefined && { least }),
  } as const;
  const definition = { parent: null, properties: { [name]: property } };
  const read = (value: string) => (settingsOf(definition, { [name]: value } as never) as Record<string, unknown>)[name];
  return {
    name,
    node: {},
    rule: `number("${name}"${least === undefined ? '' : `, ${least}`})`,
    taken: (value: string) =>
      isAccepted(() => checkSettings(definition, { [name]: value })) &&
      (value.trim() === '' || read(value) === Number(value)),
  };
};
const override = (call: unknown, name = 'currentUser') => JSON.stringify({ [name]: call });

/** Accepts an empty range, too: that depends on the other end and on the current time. */
function isRange(value: string): boolean {
  if (value.trim() === '') return true;
  try {
    readRange(value, undefined, Date.parse('2026-06-10T12:00:00Z'));
    return true;
  } catch (error) {
    return (error as Error).message.includes('range is empty');
  }
}

const hosts = {
  good: [
    ...['https://account.example.com', 'http://127.0.0.1:8080', 'http://[::1]:8080/', 'http://localhost'],
    ...[' https://h ', 'HTTPS://H/', 'https://h:8443/base//', 'https://bücher.example'],
  ],
  bad: [
    ...['http://account.example.com', 'http://127.0.0.1.example.com', 'account.example.com', 'javascript:alert(1)'],
    ...['https://me:secret@example.com', 'https://:pw@h', 'https://@h', 'https://h?', 'https://h/?a', 'https://h#'],
    ...['https://a b', 'https://a\nb', 'https://h\\x', 'https:h', 'https:\\\\h', 'https:///h', 'https://', ' ', ''],
  ],
};

export const settings: JudgedSetting[] = [
  {
    ...inQueue('hours'),
    rule: 'hours("hours")',
    good: ['', ' ', 'Mon-Fri 22:00-06:00, Sat 09:00-12:00', 'Sat-Mon 00:00-24:00', '08:00-17:00'],
    bad: ['Mon-Fry 08:00-09:00', '25:00-26:00', 'always', 'Mon 08:61-09:00'],
  },
  { ...inQueue('printers'), rule: 'printers()', good: ['', '[]', '["a","b"]'], bad: ['a', '{}', '[1]', '[""]', '['] },
  {
    ...inQueue('tags'),
    rule: 'tags()',
    good: ['', '{}', '{"a":["food-safe"]}', '{"a":[]}'],
    bad: ['a', '[]', '{"a":"b"}', '{"a":[1]}', '{'],
  },
  {
    ...inQueue('prices'),
    rule: 'prices()',
    good: ['', '{}', '{"currency":"EUR","hour":1.2,"kilogram":{"PLA":25,"*":40}}', '{"hour":0}'],
    bad: ['1', '[]', '{"hour":-1}', '{"hour":"1"}', '{"kilogram":{"PLA":"x"}}', '{"currency":1}', '{"price":1}'],
  },
  { ...inAccount('authUrl'), rule: 'host("authUrl")', ...hosts },
  { ...inAccount('apiUrl'), rule: 'host("apiUrl")', ...hosts },
  {
    ...inAccount('authUrl', { ...ACCOUNT, signIn: 'token', apiToken: 'token' }),
    rule: 'host("authUrl")',
    good: ['', ' ', 'https://h'],
    bad: ['h', 'http://h'],
  },
  {
    ...inAccount('storagePath'),
    rule: 'storagePath()',
    good: ['', ' ', '/slicer/v1', ' /slicer/v1/ ', '/a.b/c~d-e_f'],
    bad: [
      'slicer/v1',
      '/',
      '//h',
      '/a//b',
      '/a/../b',
      '/..',
      '/a/./b',
      '/a b',
      '/a?b',
      '/a#b',
      '/é',
      '/%2e%2e',
      '/a\\b',
    ],
  },
  {
    ...inAccount('origin'),
    rule: 'origin()',
    good: ['', ' ', 'https://example.com', ' http://example.com:8080 '],
    bad: ['https://example.com/', 'example.com', 'ftp://example.com', 'null', 'https://Example.com', 'https://:p@h'],
  },
  {
    ...inAccount('paths'),
    rule: 'paths()',
    good: [
      ...[
        '',
        ' ',
        '{}',
        override('GET {auth_url}/users/current'),
        override('POST /x/{cluster_id}/y/{action}', 'jobAction'),
      ],
      ...[override('DELETE {storage}/jobs/{job_id}', 'deleteJob'), override('GET /', 'printJobs')],
      ...[override('PUT /a%20b/c;d=1'), override('GET /a..b/.c'), override('GET /x{storage}/{storage}')],
    ],
    bad: [
      ...['{', '[]', 'null', '7', '"x"', override('GET /x', 'clusters'), override('GET /x', 'toString')],
      ...['{"__proto__":"GET /x"}', override(7), override(null), override({}), override(''), override('GET')],
      ...[
        override('/x'),
        override('get /x'),
        override('PATCH /x'),
        override('GET x'),
        override('GET https://e.example/'),
      ],
      ...[
        override('GET //e.example/'),
        override('GET {api_url}/x'),
        override('GET {auth_url}x'),
        override('GET /x/{job}'),
      ],
      ...[override('GET /x/{cluster_id'), override('GET /x/{}'), override('GET /x/{auth_url}'), override('GET /a b')],
      ...[override('GET /x?y=1'), override('GET /x#y'), override('GET /a/../b'), override('GET /..')],
      ...[override('GET /a/%2e%2e/b'), override('GET /a%2fb'), override('GET /a%252fb'), override('GET /a%25252Fb')],
      ...[override('GET /a/%252e%252e/b'), override('GET /a\\b'), override('GET /é'), override('GET /100%')],
      ...[override('GET /a%0d'), override('GET /a\nb'), override('GET  /x'), override(' GET /x'), override('GET /[1]')],
    ],
  },
  {
    name: 'redirectUri',
    node: ACCOUNT,
    rule: 'redirectUri()',
    // A blank value means the editor's own address.
    taken: (value) => value.trim() === '' || isAccepted(() => readRedirect(value)),
    good: ['', ' ', 'http://192.168.0.2:1880/remote-printing/callback', ' https://h/cb?a=1&b=@ '],
    bad: [
      '/remote-printing/callback',
      'http://h/#top',
      'http://h/#',
      'javascript:alert(1)',
      'http:h',
      'http://u@h/',
      '5',
    ],
  },
  {
    name: 'milestones',
    node: {},
    rule: 'milestones()',
    taken: (value) => isAccepted(() => parseMilestones(value)),
    good: ['', ' ', '25,50, 75', '0.5,100', '007'],
    bad: ['.5', '5.', '1e1', '+5', '-5', '0x10', 'Infinity', '25,,50', '25,', ',', '0', '101', 'half', '25%', '25;50'],
  },
  ...['timeout', 'maxBytes'].map((name) => ({
    ...inNode(name),
    good: ['', ' ', '1', '0.5', '1e1', '0x10', ' 60 '],
    bad: ['0', '-1', 'often', 'Infinity', 'NaN', '1,5', '1 2'],
  })),
  ...['stalled', 'lowMaterial', 'plateWait'].map((name) => ({
    ...inNode(name, 0),
    good: ['', '0', '10', '0.5'],
    bad: ['-1', 'never', 'Infinity', '1,5'],
  })),
  {
    // The runtime raises a shorter interval to ten seconds, so it does not accept it unchanged.
    ...inNode('interval', 10),
    good: ['', '10', '1e1', '86400'],
    bad: ['9', '9.99', '0', '-60', 'often', 'Infinity'],
  },
  ...['relative', 'str'].map((type) => ({
    name: 'from',
    node: { fromType: type },
    rule: 'range("from")',
    taken: isRange,
    good: [
      ...['', ' ', 'today', 'Last   WEEK ', 'last 7 days', 'last 1 month', 'last 18250 days', '2026-01-31'],
      ...['2026-01-31T12:00', '2026-01-31 12:00:00.5+02:00'],
    ],
    bad: [
      ...['next week', 'last', 'last 0 days', 'last 007 days', 'last 9999999 days', 'last 18251 days', 'last 1.5 days'],
      ...['last -1 days', '2026', '2026-02-30', '2026-13-01', '2026-01-31T25:00', '12:00', '1969-01-01', 'constructor'],
    ],
  })),
];
