import assert from 'node:assert/strict';
import type { Request, Response } from 'express';
import type { Node, NodeAPI, NodeMessage } from 'node-red';
import { TEXT } from '../../../lib/rules/limits';
import { PrintingError } from '../../../lib/service/errors';
import { phrase } from '../../../lib/words/sentence';
import { browserHashOf, callbackPage, pastedQuery, setBrowserCookie } from '../../../nodes/shared/admin/sign-in';
import { connectionConfig, signInConfig, typedAccount } from '../../../nodes/shared/admin/accounts';
import { addJobTexts } from '../../../nodes/shared/job-texts';
import { readPrintJob } from '../../../lib/service/print-job';
import { clusterStatusText } from '../../../nodes/shared/cluster-status-text';
import { filePath, isBlank, kindOf, ofMessage, read, readFlag, readText } from '../../../nodes/shared/inputs';
import { inLanguage, translated, translatedError, withTexts } from '../../../nodes/shared/language';
import { markFailed } from '../../../nodes/shared/on-input';
import { copyMessage, plainMessage, readable, readingOf } from '../../../nodes/shared/plain-message';
import { readChoice, readClusterIds, readSource } from '../../../nodes/shared/print-inputs';
import { checkSettings, settingsOf } from '../../../nodes/shared/settings';
import { failureText, StatusLine } from '../../../nodes/shared/status';
import { readPath } from '../../../nodes/shared/web-paths';
import { definition } from '../../../nodes/upload-and-print/definition';
import { checkCosts, exportsIn, MOST, prepared } from '../../helpers/hostile-texts';

const RED = {
  _: (key: string) => key,
  nodes: { eachNode: () => undefined },
  settings: { fileWorkingDirectory: '/' },
  util: { cloneMessage: structuredClone },
} as unknown as NodeAPI;
const NODE = { status: () => undefined } as unknown as Node;
/** A browser that sends the text in every header and in the path. */
const requestOf = (words: string) =>
  ({
    get: (name: string) => (name === 'user-agent' ? `Mozilla/${words}` : words),
    originalUrl: `/${words}`,
  }) as unknown as Request;
const RESPONSE = { append: () => undefined } as unknown as Response;
const messageOf = (words: string): NodeMessage => ({ payload: words, topic: words, order: { [words]: [words] } });
const frozen = (words: string): NodeMessage => Object.freeze(messageOf(words));
const errorOf = (words: string) => new PrintingError('TIMEOUT', phrase`It is ${words}.`, { serviceCode: words });
/** Parts of a text as the list of a message. */
const entries = prepared((words) => words.split(/[,;/. ]/));
const filled = prepared((words) => entries(words).filter(Boolean));
/** A text as the name of an environment variable. */
const variable = prepared((words) => `\${${words.replace(/[{}\s]/g, '')}x}`);
const fields = (words: string) => Object.fromEntries(Object.keys(definition.properties).map((name) => [name, words]));

/** How each exported function that reads texts gets one. */
const READERS: Record<string, (words: string) => unknown> = {
  'admin/sign-in.browserHashOf': (words) => [
    browserHashOf(requestOf(words), words),
    browserHashOf(requestOf(`remote-printing-sign-in-${words}`), words),
  ],
  'admin/sign-in.setBrowserCookie': (words) =>
    setBrowserCookie(requestOf(words), RESPONSE, { authorizeUrl: 'https://a', redirectUri: 'https://a', value: '' }),
  'admin/sign-in.pastedQuery': (words) => {
    for (const pasted of [words, `https:${words}`, `https://a/?code=${words}`, `https://a/?${words}`])
      for (const url of [pasted, pasted.slice(0, TEXT.field)])
        assert.throws(() => pastedQuery({ url }), { code: 'INVALID_INPUT' });
  },
  'admin/accounts.typedAccount': (words) => [
    typedAccount(RED, words, { [words]: words }),
    typedAccount(RED, words, words),
  ],
  'admin/accounts.signInConfig': (words) => signInConfig({ authUrl: words, [words]: '' }, undefined),
  'admin/accounts.connectionConfig': (words) => connectionConfig({ signIn: 'token', apiToken: words }, undefined),
  'job-texts.addJobTexts': (words) =>
    addJobTexts(RED, [
      readPrintJob({
        configuration_changes_required: ['material_change', words].map((type) => ({
          type_of_change: type,
          index: 0,
          target_name: words,
        })),
      }),
    ]),
  'cluster-status-text.clusterStatusText': (words) =>
    clusterStatusText({ standby: { why: 'other', by: words } } as never, null, true),
  'inputs.isBlank': (words) => isBlank(words),
  'inputs.read': (words) => read(RED, NODE, ofMessage('payload'), messageOf(words)),
  'inputs.readText': (words) => readText(RED, NODE, ofMessage('payload'), messageOf(words)),
  'inputs.filePath': (words) => filePath(RED, words),
  'inputs.readFlag': (words) => readFlag(messageOf(words), 'payload'),
  'inputs.kindOf': (words) => kindOf(words),
  'language.inLanguage': (words) => [
    inLanguage(words, errorOf(words).sentence),
    callbackPage.failed('de', errorOf(words).sentence),
  ],
  'language.translated': (words) => translated(RED, errorOf(words).sentence),
  'language.translatedError': (words) => translatedError(RED, errorOf(words)),
  'language.withTexts': (words) => withTexts(RED, { [words]: [errorOf(words).sentence, words] }),
  'on-input.markFailed': (words) => markFailed(messageOf(words), errorOf(words)),
  'plain-message.copyMessage': (words) => copyMessage(RED, messageOf(words)),
  'plain-message.plainMessage': (words) => plainMessage(frozen(words)),
  'plain-message.readable': (words) => readable(messageOf(words)),
  'plain-message.readingOf': (words) =>
    readingOf(words, () => {
      throw new Error(words);
    }),
  'print-inputs.readClusterIds': (words) => [readClusterIds(words), readClusterIds(filled(words))],
  'print-inputs.readChoice': (words) => readChoice({ choose: words, filter: words }),
  'print-inputs.readSource': (words) =>
    readSource(RED, NODE, { kind: 'payload', file: ofMessage('filename') }, { payload: words, filename: words }, words),
  'settings.checkSettings': (words) => {
    assert.throws(() => checkSettings(definition, fields(words)), { code: 'NOT_CONFIGURED' });
    assert.throws(() => checkSettings(definition, fields(variable(words))));
  },
  'settings.settingsOf': (words) => settingsOf(definition, fields(words) as never),
  'status.StatusLine': (words) =>
    new StatusLine(RED, NODE).show({ fill: 'red', shape: 'dot', key: 'a', values: { name: words } }),
  'status.failureText': (words) => failureText(errorOf(words)),
  'web-paths.readPath': (words) => assert.throws(() => readPath(words, 'a path'), { code: 'NOT_CONFIGURED' }),
};

/** Exported functions that read no text from elsewhere, and why. */
const OTHERS: Record<string, string> = {
  'account-link.isAccount': 'gets a node',
  'print-inputs.checkPrinterCount': 'counts',
  'print-inputs.withoutPrinters': 'reads the path in a setting',
  'account-link.clientOf': 'gets the id of a node',
  'account-link.isInFlows': 'compares ids of nodes',
  'shares.Shares': 'compares keys',
  'admin/account.accountEndpoints': 'answers by typedAccount and stateOf',
  'admin/accounts.Unknown': 'gets a sentence of this pack',
  'admin/accounts.UnknownAccount': 'gets no text',
  'admin/accounts.deployedAccount': 'compares ids of nodes',
  'admin/accounts.knownAccount': 'compares ids of nodes',
  'admin/sign-in.newBrowserValue': 'gets no text',
  'admin/account.connectionEndpoint': 'answers by typedAccount; tests by lib/connection',
  'admin/handle.handle': 'passes on a request; Express reads its languages',
  'admin/handle.idOf': 'gets a part of a path, which Node.js limits',
  'admin/index.addAdminEndpoints': 'gets no text',
  'admin/metrics.metricsEndpoint': 'hashes a token; Node.js limits the header',
  'admin/queue.queueEndpoints': 'compares ids of nodes; reads hours by readHours',
  'admin/sign-in.signInEndpoints': 'answers by pastedQuery, browserHashOf, signInConfig and Authorization',
  'admin/account.stateOf': 'compares by hostOf and grantAt',
  'admin/accounts.typedSettings': 'reads by connectionConfig and readSettings',
  'admin/accounts.formCredentials': 'gets checked settings',
  'admin/accounts.whyWithheld': 'compares by hostOf and grantFor',
  'admin/accounts.withTypedChoices': 'asks',
  'admin/accounts.deployedIdentity': 'compares the settings of a node',
  'admin/accounts.wantedBy': 'compares the settings of a node',
  'config-node.closeInTime': 'gets no text',
  'config-node.idInEditor': 'gets the id of a node',
  'flows-started.whenFlowsStarted': 'gets work to do',
  'guards.closeToOthers': 'gets no text',
  'guards.nodeRedGuards': 'reads settings.js, and a header, which Node.js limits',
  'inputs.invalid': 'gets a sentence of this pack',
  'inputs.mayComeLater': 'reads by isBlank',
  'inputs.needsMessage': 'reads by isBlank',
  'inputs.noFile': 'gets a sentence of this pack',
  'inputs.noPrinter': 'gets a sentence of this pack',
  'inputs.ofMessage': 'gets the name of a property',
  'inputs.readGiven': 'reads by read',
  'inputs.readGivenText': 'reads by readText',
  'inputs.wrongType': 'gets a sentence of this pack',
  'language.languageOf': 'Express reads the header, which Node.js limits',
  'language.readCatalogue': 'reads a file of the pack',
  'node-waits.NodeWaits': 'passes on waits',
  'metrics-setting.metricsOf': 'reads settings.js and the settings of a node',
  'on-input.onInput': 'passes on messages by plainMessage, readable and markFailed',
  'print-inputs.readPrintSource': 'reads by readSource and readText',
  'printing-text.printingText': 'gets the numbers of a job that was read',
  'queue-link.isQueue': 'gets a node',
  'queue-link.queueOf': 'gets the id of a node',
  'refused.RefusedNode': 'gets no text',
  'refused.refuseRequest': 'reads the end of a header, which Node.js limits',
  'runtime.runtimeOf': 'reads settings.js',
  'saved-state.savedState': 'reads settings.js',
  'simulated-service.openSimulated': 'starts a simulator',
  'simulated-world.SimulatedWorld': 'starts a simulator',
  'status.clockTime': 'gets numbers',
  'status.left': 'gets numbers',
  'status.percent': 'gets numbers',
  'status.rate': 'gets numbers',
  'status.signInText': 'gets a state of this pack',
  'status.staleText': 'gets numbers',
  'web-paths.WebPaths': 'compares paths',
  'web-paths.webPaths': 'gets no text',
  'web-node.webNode': 'reads by readPath',
  'work-node.workNode': 'passes on messages by onInput',
};

describe('nodes/shared: hostile text of 1 MB', () => {
  for (const [name, readsText] of Object.entries(READERS))
    it(`keeps ${name} under ${MOST} ms`, () => checkCosts(readsText));

  it('is given to every exported function that reads texts', () => {
    const found = exportsIn('nodes/shared');
    assert.ok(found.length > 50, 'the source was not read');
    const known = [...Object.keys(READERS), ...Object.keys(OTHERS)];
    assert.deepEqual(
      found.filter((name) => !known.includes(name)),
      [],
      'says how it gets its text in READERS, or why it gets none in OTHERS',
    );
    assert.deepEqual(
      known.filter((name) => !found.includes(name)),
      [],
      'is listed and no longer there',
    );
  });
});
