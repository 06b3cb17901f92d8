import { DEFAULT_SCOPE } from '../../lib/account/settings';
import { DEFAULT_STORAGE_PATH } from '../../lib/rules/paths';
import type { NodeDefinition } from '../shared/definition';

/** The form is form.html. */
export const definition = {
  parent: null,
  properties: {
    service: {
      kind: 'select',
      default: 'remote',
      options: ['remote', 'simulator'],
      meaning: "`remote`, or `simulator`: the pack's own service inside the runtime, without an account",
    },
    authUrl: {
      kind: 'text',
      default: '',
      validate: "host('authUrl')",
      meaning: 'host of accounts and sign-in, `https://…` (plain `http:` for loopback addresses only)',
    },
    apiUrl: {
      kind: 'text',
      default: '',
      validate: "host('apiUrl')",
      meaning: 'host of everything else, likewise',
    },
    storagePath: {
      kind: 'text',
      default: DEFAULT_STORAGE_PATH,
      validate: 'storagePath()',
      meaning: "prefix of the storage's paths",
    },
    signIn: {
      kind: 'select',
      default: 'oauth',
      options: ['oauth', 'token'],
      when: { service: 'remote' },
      meaning: '`oauth` (authorization code), or `token` (a static API token)',
    },
    scope: { kind: 'text', default: DEFAULT_SCOPE, meaning: 'free text, blanks between' },
    redirectUri: {
      kind: 'text',
      default: '',
      validate: 'redirectUri()',
      meaning: 'empty: the editor builds it from its own address, and shows it to be registered',
    },
    origin: { kind: 'text', default: '', validate: 'origin()', meaning: 'web origin to send with uploads' },
    organizationId: { kind: 'text', default: '', meaning: 'workspace to land in' },
    paths: {
      kind: 'text',
      default: '{}',
      json: true,
      validate: 'paths()',
      meaning: 'JSON: other methods and paths for calls that the interface does not show (7)',
    },
    metrics: {
      kind: 'checkbox',
      default: false,
      meaning: 'counts for Prometheus, and shows the figures of the printers to it (5)',
    },
  },
  credentials: { clientId: 'text', clientSecret: 'password', apiToken: 'password', metricsToken: 'password' },
} as const satisfies NodeDefinition;
