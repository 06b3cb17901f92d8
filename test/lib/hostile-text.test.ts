import assert from 'node:assert/strict';
import { readdirSync } from 'node:fs';
import { PassThrough } from 'node:stream';

import { currentUser, readCurrentUser } from '../../lib/account/current-user';
import {
  checkSet,
  readSettings,
  readRedirect,
  readSignIn,
  readHost,
  settingsSummary,
  readSecret,
  readToken as readTokenSetting,
} from '../../lib/account/settings';
import { isKnownHost, nameIn, readHosts, refusalOf } from '../../lib/web/access';
import { parseMessage, replyTo } from '../../lib/assistant/protocol';
import { plainArguments, readArguments } from '../../lib/assistant/schema';
import { TOOLS } from '../../lib/assistant/tools';
import { lineOf } from '../../lib/board/history';
import { readPress } from '../../lib/board/permission';
import type { PastPrint } from '../../lib/board/shapes';
import { BoardToken } from '../../lib/board/token';
import { compare, describedCalls, statusSays } from '../../lib/connection/paths-check';
import { checkClock } from '../../lib/connection/user-checks';
import { observe } from '../../lib/events/observation';
import { AnswerShape, decodersOf } from '../../lib/http/answers';
import { flatten } from '../../lib/http/whole-text';
import { isForeignHost, storageAddress } from '../../lib/http/foreign-hosts';
import { codeOf, networkError } from '../../lib/http/retry';
import { type Http, proxiesOf } from '../../lib/http/http';
import { extensionOf, imageType, fileName } from '../../lib/picture/image';
import { keysBeyond, keysOf, NamedColumns, normalized, shapeOf } from '../../lib/report/columns';
import { CsvReader } from '../../lib/report/csv';
import { readAddress, readBody, headersForFlow } from '../../lib/request/requests';
import { hostFault, hostOf, isOrigin, isRedirectUri } from '../../lib/rules/addresses';
import { deviceId, Topics } from '../../lib/home-assistant/identity';
import { readInput } from '../../lib/home-assistant/input';
import { readTopicPrefix } from '../../lib/rules/topics';
import { hostnameOf, readWebPath, readHostNames } from '../../lib/rules/web';
import { parseHours } from '../../lib/rules/hours';
import { readMilestones, TEXT, TOOLPATH } from '../../lib/rules/limits';
import { readRangeEnd } from '../../lib/rules/ranges';
import { readPathOverrides, readStoragePath, unsafePart } from '../../lib/rules/paths';
import { readPriceList, readPrinterIds, readTags } from '../../lib/rules/queue-settings';
import { holds } from '../../lib/rules/conditions';
import { isFilePath, readNumber, trimmed, variableOf, webAddress, withoutSlashes } from '../../lib/rules/text';
import {
  printerEntry,
  readCluster,
  readClusterStatus,
  readListedJobs,
  statusRecord,
  storedStatus,
} from '../../lib/service/cluster';
import {
  asPrintingError,
  few,
  isExpiredToken,
  PrintingError,
  readRefusal,
  readRetryAfter,
  refusalError,
  withoutAddresses,
  withoutSecrets,
  withoutDots,
} from '../../lib/service/errors';
import {
  checkCompressedType,
  endsIn,
  fileExtension,
  findToolpath,
  isCompressible,
  readMediaType,
  storedType,
  toolpath,
} from '../../lib/service/file-types';
import { isKnownStatus, stateOf } from '../../lib/service/job-words';
import {
  checkFileName,
  describeChange,
  describeReason,
  instanceId,
  jobName,
  readOptionalPrintJob,
  readPrintJob,
  readPrintJobs,
  storedJob,
} from '../../lib/service/print-job';
import { feedsOf, offeredMaterials } from '../../lib/service/feeds';
import { guidOf, isNilGuid, readMaterialWords } from '../../lib/service/material';
import { readFaults, readMaintenanceTask, readPrinter } from '../../lib/service/printer';
import { isRecordOf, readOverrides, target } from '../../lib/service/paths';
import {
  amount,
  duration,
  estimate,
  extentBetween,
  flag,
  line,
  list,
  number,
  record,
  records,
  single,
  text,
  time,
} from '../../lib/service/json-readers';
import { readMetadata, readStoredFile, storedId } from '../../lib/service/stored-file';
import { phrase, Sentence } from '../../lib/words/sentence';
import { shown } from '../../lib/words/shown';
import { decodeMessage, encodeMessage } from '../../lib/postgres/channel';
import { statePlace } from '../../lib/state/store';
import { MemoryStore } from '../../lib/state/memory-store';
import { isNewer, Records, parseRecord } from '../../lib/state/records';
import { seal, unseal } from '../../lib/state/seal';
import { grantAt, grantFor, holderOf, lifetimeIn, newestGrant, readToken, whyEnded } from '../../lib/sign-in/grant';
import { Authorization } from '../../lib/sign-in/authorization';
import { PendingAuthorizations } from '../../lib/sign-in/pending-authorizations';
import { StaticToken } from '../../lib/sign-in/tokens';
import { findPrinter } from '../../lib/picture/snapshots';
import { orderReport, readReport } from '../../lib/report/order';
import { Summary } from '../../lib/report/summary';
import { readRange } from '../../lib/report/ranges';
import { readPages } from '../../lib/account/pages';
import { bytesContent, empty, fileNameOf } from '../../lib/upload/content';
import { queryKeptBytes, awaitUploaded, isGone, isUploaded, readStored } from '../../lib/upload/send';
import { readFile } from '../../lib/library/library';
import { atLimit, dispatchAction, followAction, meaning } from '../../lib/action/action';
import { jobData, ruleOf } from '../../lib/control/job-rules';
import { jobUnderWay, printsUnderWay } from '../../lib/control/job-control';
import { sumMaterials } from '../../lib/query/materials';
import { readPreview } from '../../lib/query/queries';
import {
  FilterInput,
  folded,
  matches,
  ComparableMaterial,
  matchesMaterial,
  misfitOf,
  plain,
  readPrinterFilter,
} from '../../lib/service/printer-filter';
import { filterQueries, fitsOf, readPrintJobFilter } from '../../lib/query/print-job-filter';
import { costOf, readHours, readPrices, readRules } from '../../lib/queue/model/rules';
import type { QueuePrinter } from '../../lib/queue/model/types';
import { readRequire, type Require, requirementOf } from '../../lib/queue/model/requirement';
import { mismatchOf } from '../../lib/queue/plan/suitability';
import {
  amountIn,
  configFacts,
  curaFacts,
  elapsedIn,
  fieldsOf,
  griffinFacts,
  lastLineAt,
  lineAt,
  orcaFacts,
  prusaFacts,
  secondsIn,
  sizeIn,
  textIn,
} from '../../lib/toolpath/slicers';
import { factsOfContent, factsOfFile, factsOfMetadata } from '../../lib/toolpath/read-facts';
import { inflateHead } from '../../lib/toolpath/bytes';
import { modelHead } from '../../lib/toolpath/ufp';
import { labelOf } from '../../lib/metrics/exposition';
import { systemClock } from '../../lib/time/clock';
import { Turns } from '../../lib/time/concurrency';
import type { ApiClient } from '../../lib/account/api-client';
import type { Membership } from '../../lib/state/membership';
import type { Deadline } from '../../lib/time/deadline';
import { candidates } from '../../lib/print/ledger';
import { plainProperties } from '../../lib/print/plain-properties';
import { advance } from '../../lib/events/advance';
import { changed, ChangeFilter } from '../../lib/watch/views/rounds';
import { logReport, nameFor, outageNotice, recoveryNotice, signInNotice } from '../../lib/watch/views/outages';
import { readCheckpoint } from '../../lib/events/checkpoint';
import { fingerprint } from '../../lib/events/fingerprint';
import { readListCheckpoint } from '../../lib/events/list-changes';
import { parseMilestones } from '../../lib/events/edges';
import { isPrintEvent } from '../../lib/events/print-event';
import { figuresOf, withFigures } from '../../lib/watch/checkpoints/figures';
import { ClusterMemory, PackedTexts } from '../../lib/watch/checkpoints/memory';
import { readAllPages, readPrinters } from '../../lib/watch/polling/cluster-list';
import { fairShare } from '../../lib/watch/replication/assignments';
import { StatusReader } from '../../lib/watch/polling/status-reader';
import { readJobRecord } from '../../lib/watch/polling/types';
import { OutageMarks, OutageMemory } from '../../lib/watch/checkpoints/outage-marks';
import { replicasOf } from '../../lib/watch/replication/peers';
import { readAbout, readJson } from '../../lib/postgres/roster';
import { guard } from '../../lib/time/guard';
import { checkCosts, exportsIn, HOSTILE, MOST, prepared, SIZE, to } from '../helpers/hostile-texts';
import { nominalStand } from '../helpers/nominal-time';
import { zip } from '../helpers/zip';
import { printer as queuePrinter } from '../helpers/queue-inputs';

/** The value is asked for in a field of a record, an entry of a list, and a text by itself. */
const FIELDS = (words: string) => new Proxy({}, { get: () => words, has: () => true, ownKeys: () => [] });
const API = { apiUrl: 'https://api.example', authUrl: 'https://auth.example' };
const PATHS = { storagePath: '/slicer/v1', overrides: {} };
const CONTEXT = { clusterId: 'c', receivedAt: '2026-01-01T00:00:00.000Z', identity: null, lived: 0, arrived: 0 };

/** A service whose every answer has the text in all its fields. */
const service = (words: string) =>
  ({ call: () => Promise.resolve({ data: FIELDS(field(words)) }) }) as unknown as ApiClient;
const statusReader = (words: string) =>
  new StatusReader(service(words), { readAnew: () => Promise.resolve(new Map()) });
/** The longest part of the text that a field of an answer may have. */
const field = (words: string) => words.slice(0, TEXT.field);
/** The time is over before the first pause. */
const LIMITS = {
  deadline: {
    clock: { monotonic: () => 0 },
    sleep: () => Promise.reject(new PrintingError('TIMEOUT', phrase`It is over.`)),
  } as unknown as Deadline,
};
const STORED = { kind: 'job', id: 'j' } as const;
const ACTION = {
  ...LIMITS,
  endpoint: 'printerAction',
  ids: { cluster_id: 'c', action: 'a' },
  what: phrase`it`,
} as const;
const NO_GRANT = {
  authUrl: '',
  clientId: '',
  redirectUri: '',
  refreshToken: null,
  expiresAt: 0,
  lifetime: 0,
  scope: null,
};
const signed = (claims: object) => `a.${Buffer.from(JSON.stringify(claims)).toString('base64url')}.a`;
const tokenOf = prepared((words) => signed({ username: words }));
/** A token of permitted length. */
const permittedToken = prepared((words) => signed({ username: words.slice(0, TEXT.field / 9) }));

const bytesOf = prepared((words) => Buffer.from(words));
/** A UFP file whose directory and toolpath are the text. */
const zipOf = prepared((words) =>
  zip([
    ...Array.from({ length: TOOLPATH.entries - 2 }, (_, n) => ({
      name: `${n}${words.slice(0, 1000)}`,
      bytes: Buffer.of(),
    })),
    { name: '/3D/model.gcode', bytes: Buffer.from(words) },
  ]),
);

/** A sign-in under way that only its own browser may complete. */
async function signingIn() {
  const deps = { store: new MemoryStore(), signIns: new MemoryStore(), clock: systemClock, endpoint: {} as never };
  const settings = { authUrl: 'https://a.b', clientId: 'c', clientSecret: 's', scope: '' };
  const authorization = new Authorization(deps);
  const url = await authorization.begin({
    ...{ accountId: 'a', settings, redirectUri: 'https://a.b', organizationId: '', browser: 'own' },
  });
  const state = new URL(url).searchParams.get('state') ?? '';
  return { authorization, state, pending: new PendingAuthorizations(deps.signIns, systemClock) };
}

const seen = (words: string) =>
  observe({ printers: [FIELDS(field(words))], print_jobs: [FIELDS(field(words))] }, CONTEXT) ?? assert.fail();

/** A printer with a material and a print core of these names. */
const loadedWith = (words: string) => {
  const name = field(words);
  const configuration = [
    { extruder_index: 0, print_core_id: name, material: { brand: name, material: name, color: name } },
  ];
  const printers = [{ ...FIELDS(name), uuid: 'P', configuration }];
  return observe({ is_online: true, printers, print_jobs: [FIELDS(name)] }, CONTEXT) ?? assert.fail();
};
const changeOf = (type: string, words: string) => ({
  type_of_change: type,
  index: 0,
  origin_name: words,
  target_name: words,
});
const NO_FILTER = readPrinterFilter({});
/** A filter with as much of the text as it may have. */
const filterOf = (words: string) => {
  const part = words.slice(0, 500);
  return part.trim() === '' ? {} : { model: part, name: part, tag: part, material: [part, { name: part }] };
};
const printerOf = (words: string) =>
  printerEntry(readCluster(FIELDS(field(words))) ?? readCluster({ cluster_id: 'c' }) ?? assert.fail());
/** A printer with a station whose slots hold materials of which only the text is known. */
const stationOf = (words: string) => {
  const slot = (index: number) => ({ slot_index: index, extruder_index: 0, material: { material: words } });
  return readPrinter({ material_station: { material_slots: Array.from({ length: 100 }, (_, index) => slot(index)) } });
};
const refuse = (rule: Sentence) => new PrintingError('INVALID_INPUT', rule);
/** A printer of which only the model is known. */
const PRINTER = queuePrinter('c', { clusterName: null, model: 'A', extruders: null });
const STRICT = { match: 'strict', material: 'guid' } as const;
/** The sentence about what a printer lacks. `needs`: a model, which both have, unless it names another. */
const mismatchText = (needs: Require, printer: QueuePrinter): string =>
  String(
    mismatchOf(
      requirementOf({ models: ['A'], ...needs }, null, () => null),
      printer,
      STRICT,
    )?.sentence,
  );
/** Returns the error in place of a throw, so that the next input is tried as well. */
const attempt = (work: () => unknown): unknown => {
  try {
    return work();
  } catch (error) {
    return (error as PrintingError).message;
  }
};
/** Refuses each request. */
const NOWHERE = {
  isLocal: false,
  send: () => Promise.reject(new PrintingError('NETWORK', phrase`It is away.`)),
} as unknown as Http;

const concerned = (words: string) => ({ count: 5, names: [words, words, words], clusterId: words });
const sharers = prepared((words: string) => {
  const clusters = words.split(/(?<=,)/);
  const wants = { workspace: 'w', all: true, clusters: [words, ...clusters], waits: clusters };
  return [memberOf(wants), memberOf(words), memberOf({ workspace: words, clusters: words })];
});
const markOf = (words: string) => ({
  id: words,
  since: 0,
  at: 0,
  kind: words,
  printers: words.split(','),
  told: [words],
});
/** A runtime of another version, as the database has it. */
const memberOf = (wants: unknown) => ({ id: 'a', name: 'a', since: 0, wants });
const membershipOf = prepared((words: string) => {
  const holdings = new Map([[words, { items: words.split(','), leaseAge: 0 }]]);
  const members = [{ ...memberOf(words), id: words, name: words }];
  return { id: 'a', members, holders: () => Promise.resolve(holdings) } as unknown as Membership;
});

/** A print of a queue that has ended. */
const pastPrint = (words: string): PastPrint<string> => ({
  ...{ id: words, itemId: words, item: words, orderId: words, owner: words, copy: 1, attempt: 1, printer: words },
  ...{ result: words, reason: words, startedAt: words, endedAt: words, seconds: 1, weight: 1, cost: 1, goodParts: 1 },
});

const described = (document: unknown) => describedCalls(document, 'api', '/connect/v1', new Turns(systemClock));

/** For each exported function that reads foreign text: how it gets that text. */
const READERS: Record<string, (words: string) => unknown> = {
  'account/current-user.currentUser': (words) => currentUser(FIELDS(words)),
  'account/settings.readSettings': (words) => readSettings({ apiUrl: words, authUrl: words, paths: words }),
  'connection/user-checks.checkClock': (words) =>
    checkClock({ status: 200, headers: { date: words, age: words }, body: null, sentAt: 0, arrivedAt: 0 }),
  'connection/paths-check.compare': async (words) =>
    compare('printJobs', PATHS, (await described({ paths: { [words]: { get: {} } } })) ?? []),
  'connection/paths-check.describedCalls': (words) => described({ basePath: words, paths: { [words]: { get: {} } } }),
  'connection/paths-check.statusSays': (words) =>
    statusSays({ status: 404, headers: {}, body: FIELDS(words), sentAt: 0, arrivedAt: 0 }, 'GET /x'),
  'events/observation.observe': (words) =>
    observe({ printers: [FIELDS(words)], print_jobs: [{ status: words, uuid: words }] }, CONTEXT),
  'http/answers.AnswerShape': (words) => new AnswerShape().add(Buffer.from(words)),
  'http/answers.decodersOf': (words) => decodersOf(words),
  'http/whole-text.flatten': (words) => flatten({ a: words, b: [words, words] }),
  'http/foreign-hosts.isForeignHost': (words) => isForeignHost(words, false),
  'http/retry.codeOf': (words) => codeOf(Object.assign(new Error(words), { code: words })),
  'http/retry.networkError': (words) => networkError(new Error(words), 'unknown', undefined, words),
  'http/http.proxiesOf': (words) => proxiesOf({ https_proxy: words, no_proxy: words }),
  'http/foreign-hosts.storageAddress': (words) => storageAddress(words, false),
  'picture/image.fileName': (words) => fileName([words], CONTEXT.receivedAt, words),
  'picture/image.extensionOf': (words) => extensionOf(`image/${words}`),
  'picture/image.imageType': (words) => imageType(Buffer.from(words)),
  'report/columns.keysBeyond': (words) => keysBeyond([words], 200),
  'report/columns.keysOf': (words) => keysOf(words.split(',').slice(0, 50_000)),
  'report/columns.normalized': (words) => normalized(words),
  'report/columns.NamedColumns': (words) => new NamedColumns([words]).cell({ [words]: words }, normalized(words)),
  'report/columns.shapeOf': (words) => shapeOf(Buffer.from(words)),
  'request/requests.readAddress': (words) => [
    readAddress(words, API),
    readAddress(`https://api.example/${words}`, API),
  ],
  // Half of the text: JSON.stringify alone needs nearly the limit for 1 MB of unpaired surrogates.
  'request/requests.readBody': (words) => readBody(words.slice(0, SIZE / 2)),
  'request/requests.headersForFlow': (words) => headersForFlow({ connection: words, other: words }),
  'rules/addresses.hostFault': (words) => hostFault(words),
  'rules/limits.readMilestones': (words) => readMilestones(words),
  'rules/addresses.hostOf': (words) => [words, `https://${words}`].map(hostOf),
  'rules/addresses.isOrigin': (words) => isOrigin(words),
  'rules/paths.readPathOverrides': (words) => [
    readPathOverrides(words),
    readPathOverrides({ printJobs: `GET /${words}` }),
  ],
  'rules/paths.unsafePart': (words) => unsafePart(words),
  'rules/ranges.readRangeEnd': (words) => readRangeEnd(words),
  'rules/addresses.isRedirectUri': (words) => isRedirectUri(words),
  'rules/paths.readStoragePath': (words) => readStoragePath(words),
  'rules/conditions.holds': (words) => holds({ name: words }, () => words),
  'rules/text.readNumber': (words) => readNumber(words),
  'rules/text.trimmed': (words) => trimmed(words),
  'rules/text.isFilePath': (words) => [isFilePath(words), isFilePath(`"${words}`), isFilePath(`'${words}`)],
  'rules/text.variableOf': (words) => [variableOf(words), variableOf('${' + words + '}'), variableOf('$(' + words)],
  'rules/text.webAddress': (words) => webAddress(words),
  'rules/text.withoutSlashes': (words) => withoutSlashes(words),
  'service/cluster.readClusterStatus': (words) => readClusterStatus(FIELDS(words), CONTEXT),
  'service/cluster.readListedJobs': (words) => readListedJobs({ ...FIELDS(words), is_online: false }, words),
  'service/cluster.statusRecord': (words) => statusRecord(words),
  'service/printer-filter.FilterInput': (words) => new FilterInput({ [words]: words }, ['a'], refuse),
  'service/cluster.printerEntry': (words) => [
    printerOf(words),
    printerEntry(readCluster({ cluster_id: 'c', note: field(words.replaceAll(/.{4}/gs, '#a ')) }) ?? assert.fail()),
  ],
  'service/printer-filter.readPrinterFilter': (words) => [
    attempt(() => readPrinterFilter(words)),
    attempt(() => readPrinterFilter({ [words]: words })),
    attempt(() => readPrinterFilter({ material: words })),
    readPrinterFilter(filterOf(words)),
  ],
  'service/printer-filter.matches': (words) => matches(readPrinterFilter(filterOf(words)), printerOf(words)),
  'service/printer-filter.misfitOf': (words) => misfitOf(readPrinterFilter(filterOf(words)), printerOf(words)),
  'service/printer-filter.matchesMaterial': (words) => {
    const material = { guid: words, brand: words, name: words, color: words, diameter: null, density: null };
    const wanted = readPrinterFilter(filterOf(words)).materials;
    return wanted.map((one) => matchesMaterial(one, new ComparableMaterial(material)));
  },
  'watch/polling/cluster-list.readPrinters': (words) => readPrinters(service(words), LIMITS.deadline),
  'service/cluster.readCluster': (words) => readCluster(FIELDS(words)),
  'service/errors.PrintingError': (words) => new PrintingError('TIMEOUT', phrase`It is ${words}.`),
  'service/errors.asPrintingError': (words) => [
    asPrintingError(words),
    asPrintingError(Object.assign(new TypeError(words), { stack: `TypeError: ${words}` })),
  ],
  'service/errors.few': (words) => few(words, phrase`it`),
  'service/file-types.findToolpath': (words) => findToolpath(words),
  'service/file-types.fileExtension': (words) => [fileExtension(words), fileExtension(`${words}.${words}`)],
  'service/file-types.readMediaType': (words) => [readMediaType(words), readMediaType(`a/${words}`)],
  'service/file-types.checkCompressedType': (words) => checkCompressedType(words),
  'service/file-types.endsIn': (words) => endsIn(words, '.gz'),
  'service/file-types.isCompressible': (words) => isCompressible(words, 'application/gzip'),
  'service/file-types.storedType': (words) => storedType('file', words),
  'service/file-types.toolpath': (words) => toolpath(words),
  'service/print-job.checkFileName': (words) => checkFileName(words),
  'service/print-job.jobName': (words) => jobName(words, `${words}.gcode`, true),
  'service/printer.readMaintenanceTask': (words) => readMaintenanceTask(FIELDS(words)),
  'service/paths.isRecordOf': (words) => isRecordOf('printJob', { [words]: words }),
  'service/paths.readOverrides': (words) => readOverrides(words),
  'service/paths.target': (words) => target('clusterStatus', { cluster_id: words }, { ...PATHS, storagePath: words }),
  'service/job-words.isKnownStatus': (words) => isKnownStatus(words),
  'service/job-words.stateOf': (words) =>
    ['', 'aborted_', '_wait_cleanup'].map((part) => stateOf({ status: part + words, serviceState: words }, 0.5)),
  'service/print-job.readOptionalPrintJob': (words) => readOptionalPrintJob({ uuid: words, status: words }),
  'service/print-job.readPrintJob': (words) => readPrintJob(FIELDS(words)),
  'service/print-job.instanceId': (words) => instanceId(FIELDS(words)),
  'service/print-job.describeReason': (words) => String(describeReason(readPrintJob(FIELDS(words)))),
  'service/print-job.storedJob': (words) => storedJob(readPrintJob(FIELDS(words))),
  'service/print-job.readPrintJobs': (words) => readPrintJobs([FIELDS(words)]),
  'service/printer.readFaults': (words) => readFaults({ faults: [FIELDS(words)] }),
  'service/print-job.describeChange': (words) =>
    ['material_change', 'print_core_change', 'buildplate_change', words].map((type) =>
      String(
        describeChange(readPrintJob({ configuration_changes_required: [changeOf(type, words)] }).changesRequired[0]!),
      ),
    ),
  'service/feeds.feedsOf': (words) => feedsOf(stationOf(words)),
  'service/feeds.offeredMaterials': (words) => offeredMaterials(stationOf(words)),
  'service/material.guidOf': (words) => guidOf(words),
  'service/material.isNilGuid': (words) => isNilGuid(words),
  'service/material.readMaterialWords': (words) => readMaterialWords(FIELDS(words)),
  'service/printer.readPrinter': (words) => readPrinter(FIELDS(words)),
  'service/errors.isExpiredToken': (words) => isExpiredToken(403, { errors: [{ code: words }] }),
  'service/errors.readRefusal': (words) => readRefusal({ errors: [{ code: words, detail: words }] }),
  'service/errors.readRetryAfter': (words) => readRetryAfter({ 'retry-after': words, date: words }, 0),
  'service/errors.refusalError': (words) => refusalError(409, { errors: [{ code: words, title: words }] }, phrase`it`),
  'service/errors.withoutDots': (words) => withoutDots(`${words}${'.'.repeat(words.length)}x`),
  'service/errors.withoutAddresses': (words) => withoutAddresses(words),
  'service/errors.withoutSecrets': (words) => withoutSecrets(words, ['secret+/'], ''),
  'metrics/exposition.labelOf': (words) => labelOf('name', words),
  'service/cluster.storedStatus': (words) =>
    storedStatus({ ...FIELDS(words), printers: [FIELDS(words)], jobs: [FIELDS(words)], current: FIELDS(words) }),
  'service/json-readers.extentBetween': (words) =>
    extentBetween(
      () => words,
      () => words,
    ),
  'service/stored-file.readMetadata': (words) => readMetadata(FIELDS(words)),
  'service/stored-file.readStoredFile': (words) => readStoredFile({ kind: 'job', id: words }, FIELDS(words)),
  'service/stored-file.storedId': (words) => storedId('job', FIELDS(words)),
  'service/json-readers.flag': (words) => flag(words),
  'service/json-readers.line': (words) => line(words),
  'service/json-readers.list': (words) => list(words),
  'service/json-readers.amount': (words) => amount(words),
  'service/json-readers.number': (words) => number(words),
  'service/json-readers.duration': (words) => duration(words),
  'service/json-readers.estimate': (words) => estimate(words),
  'service/json-readers.record': (words) => record(words),
  'service/json-readers.records': (words) => records(words),
  'service/json-readers.single': (words) => single(words),
  'service/json-readers.text': (words) => text(words),
  'service/json-readers.time': (words) => time(words),
  'account/settings.readSecret': (words) => readSecret('name', words),
  'account/settings.readToken': (words) => readTokenSetting('name', words),
  'account/settings.readHost': (words) => readHost(words, phrase`API host`),
  'words/sentence.Sentence': (words) => String(new Sentence(words, [words])),
  'words/shown.shown': (words) => shown(words),
  'postgres/channel.decodeMessage': (words) => decodeMessage(words),
  'postgres/channel.encodeMessage': (words) => encodeMessage({ by: 'a', key: ['k', words] }),
  'state/store.statePlace': (words) => [statePlace(words, '/a'), statePlace(`file:${words}`, '/a')],
  'state/records.Records': (words) =>
    new Records({ sealedKinds: ['grant'], secrets: () => ['s'] }).read(['grant'], words),
  'state/records.parseRecord': (words) => parseRecord(words),
  'state/records.isNewer': (words) => isNewer(words),
  'state/seal.seal': (words) => seal(words, 's', 'l'),
  'state/seal.unseal': (words) => unseal({ salt: words, iv: words, tag: words, data: words }, 's', 'l'),
  'sign-in/grant.grantAt': (words) => grantAt({ byService: { [words]: NO_GRANT as never } }, words),
  'sign-in/grant.grantFor': (words) =>
    grantFor({ byService: {} }, { authUrl: words, clientId: words, clientSecret: words, scope: words }),
  'sign-in/grant.holderOf': (words) => holderOf({ ...NO_GRANT, accessToken: words }),
  'sign-in/grant.lifetimeIn': (words) => [words, tokenOf(words), permittedToken(words)].map(lifetimeIn),
  'sign-in/grant.newestGrant': (words) => newestGrant({ byService: { [words]: NO_GRANT as never } }),
  'sign-in/grant.readToken': (words) => [words, tokenOf(words), permittedToken(words)].map(readToken),
  'sign-in/grant.whyEnded': (words) => String(whyEnded({ ...NO_GRANT, accessToken: '', ended: words })),
  'sign-in/tokens.StaticToken': (words) => new StaticToken(words).info(),
  'sign-in/authorization.Authorization': async (words) => {
    const { authorization, state } = await signingIn();
    const completed = (query: Record<string, string>, browser = words) =>
      authorization.complete(new URLSearchParams(query), { browser });
    await assert.rejects(completed({ state: words, code: words }), { code: 'INVALID_INPUT' });
    await assert.rejects(completed({ state, code: words }), { code: 'INVALID_INPUT' });
    await assert.rejects(completed({ state, error: words }, 'own'), { code: 'FORBIDDEN' });
  },
  'sign-in/pending-authorizations.PendingAuthorizations': async (words) => {
    const { pending } = await signingIn();
    for (const state of [words, `a.${words}`])
      await Promise.all([
        ...[pending.use(state), pending.use(state, words), pending.isOfAnotherBrowser(state, words)],
        ...[pending.isDeleted(state), pending.end(state, null)],
      ]);
  },
  'picture/snapshots.findPrinter': (words) =>
    findPrinter(
      { statusReader: statusReader(words), clusterList: { find: () => Promise.resolve(null) } },
      'c',
      null,
      LIMITS.deadline,
    ),
  'report/summary.Summary': (words) => {
    const summary = new Summary();
    const row = { printer_name: words, status: words, started_at: words, removed_at: words, time_elapsed: words };
    summary.add([row], [...Object.keys(row), words]);
    return summary.result;
  },
  'report/order.orderReport': (words) =>
    orderReport(service(words), {
      clusterIds: ['c'],
      reportType: words,
      range: { from: 0, to: 1 },
      onOrdered: () => undefined,
      ...LIMITS,
    }),
  'report/order.readReport': (words) => readReport(service(words), 'r', LIMITS),
  'report/ranges.readRange': (words) => readRange(words, words, 0),
  'account/current-user.readCurrentUser': (words) => readCurrentUser(service(words), {}, LIMITS.deadline),
  'account/pages.readPages': async (words) => {
    const options = { what: phrase`it`, ...LIMITS };
    const answering = (body: object) =>
      ({ call: () => Promise.resolve({ data: [{ uuid: words }], body }) }) as unknown as ApiClient;
    await readPages(answering({ links: { next: field(words) } }), 'printJobs', options);
    // A page that repeats the one before is compared with it.
    await readPages(answering({}), 'printJobs', { ...options, query: { limit: '1' } });
  },
  'account/settings.checkSet': (words) => checkSet({ name: words, other: words }),
  'account/settings.settingsSummary': (words) =>
    settingsSummary(
      readSettings({
        apiUrl: 'https://a.b',
        authUrl: 'https://a.b',
        signIn: 'token',
        apiToken: words,
        organizationId: words,
      }),
    ),
  'account/settings.readRedirect': (words) => readRedirect(words),
  'account/settings.readSignIn': (words) =>
    readSignIn({ authUrl: 'https://a.b', clientId: words, clientSecret: words, scope: words }),
  'toolpath/slicers.amountIn': (words) => amountIn(new Map([['a', words]]), 'a'),
  'toolpath/slicers.elapsedIn': (words) => [elapsedIn(`;TIME_ELAPSED:${words}`), elapsedIn(words)],
  'toolpath/slicers.fieldsOf': (words) => [
    fieldsOf(words, ':'),
    fieldsOf(`;${words}`, ' = '),
    fieldsOf(to(`;${words.slice(0, 4)}\n`, SIZE), ':'),
  ],
  'toolpath/slicers.lastLineAt': (words) => lastLineAt(words, '; prusaslicer_config = begin'),
  'toolpath/slicers.lineAt': (words) => lineAt(words, ';START_OF_HEADER'),
  'toolpath/slicers.secondsIn': (words) => [secondsIn(words), secondsIn(words.slice(0, 64))],
  'toolpath/slicers.sizeIn': (words) => sizeIn(new Map([['MINX', words]]), (corner, axis) => `${corner}${axis}`),
  'toolpath/slicers.textIn': (words) => textIn(new Map([['a', words]]), 'a'),
  'toolpath/slicers.curaFacts': (words) => curaFacts(`;FLAVOR:Marlin\n;${words}`),
  'toolpath/read-facts.factsOfContent': (words) => factsOfContent(bytesContent(bytesOf(words), 'a')),
  'toolpath/read-facts.factsOfFile': (words) =>
    factsOfFile({ kind: 'bytes', bytes: bytesOf(words), name: words }, LIMITS.deadline),
  'toolpath/read-facts.factsOfMetadata': (words) => factsOfMetadata(FIELDS(words)),
  'toolpath/slicers.griffinFacts': (words) => griffinFacts(`;START_OF_HEADER\n;${words}\n;END_OF_HEADER`),
  'toolpath/bytes.inflateHead': (words) =>
    Promise.all([inflateHead(bytesOf(words), 'deflate'), inflateHead(bytesOf(words), 'gzip')]),
  'toolpath/slicers.orcaFacts': (words) =>
    orcaFacts(`; HEADER_BLOCK_START\n; ${words}\n; HEADER_BLOCK_END`, `${words}\n; CONFIG_BLOCK_START\n;${words}`),
  'toolpath/slicers.prusaFacts': (words) =>
    prusaFacts(`${words}\n; prusaslicer_config = begin\n; filament_type = ${words}`),
  'toolpath/slicers.configFacts': (words) => configFacts(words, [SIZE / 2, SIZE], {}),
  'toolpath/ufp.modelHead': (words) => modelHead(bytesContent(zipOf(words), 'a')),
  'upload/content.bytesContent': (words) => bytesContent(Buffer.alloc(0), words),
  'upload/content.empty': (words) => empty(words),
  'upload/content.fileNameOf': (words) => [
    fileNameOf({ kind: 'file', path: words }),
    fileNameOf({ kind: 'bytes', bytes: Buffer.alloc(0), name: words }),
  ],
  'upload/send.awaitUploaded': (words) =>
    Promise.all([
      awaitUploaded(service(words), STORED, LIMITS),
      awaitUploaded(service(`error ${words}`), STORED, LIMITS),
    ]),
  'upload/send.isGone': (words) => isGone(service(words), 'job', LIMITS.deadline),
  'upload/send.isUploaded': (words) => isUploaded({ status: field(words) }),
  'upload/send.readStored': (words) => readStored(service(words), STORED, LIMITS),
  'upload/send.queryKeptBytes': (words) =>
    queryKeptBytes(
      { send: () => Promise.resolve({ status: 308, headers: { range: words }, body: new PassThrough() }) } as never,
      { url: 'https://a.b', contentType: '', origin: '' },
      1,
      LIMITS.deadline,
    ),
  'library/library.readFile': (words) => readFile(STORED, { file_name: field(words), status: field(words) }),
  'action/action.atLimit': (words) => atLimit(new PrintingError('TIMEOUT', phrase`It is over.`), words, phrase`it`),
  'action/action.dispatchAction': (words) => dispatchAction(service(words), ACTION),
  'action/action.followAction': (words) =>
    followAction(service(words), ACTION, { actionId: words, status: words, details: null, raw: null }, () => undefined),
  'action/action.meaning': (words) => meaning(words),
  'control/job-rules.jobData': (words) => [
    jobData(words, { data: { a: words } }),
    jobData('duplicate', { quantity: words }),
  ],
  'control/job-rules.ruleOf': (words) => ruleOf(words),
  'control/job-control.jobUnderWay': (words) => jobUnderWay(statusReader(words), 'c', LIMITS.deadline),
  'control/job-control.printsUnderWay': (words) =>
    printsUnderWay(service(words), statusReader(words), NO_FILTER, words, LIMITS.deadline),
  'query/materials.sumMaterials': (words) =>
    sumMaterials([printerOf(words)], readPrinterFilter(filterOf(words)).materials, systemClock),
  'query/queries.readPreview': (words) =>
    readPreview({ service: service(words), http: NOWHERE }, { jobId: words }, { ...LIMITS.deadline } as Deadline),
  'query/print-job-filter.filterQueries': (words) =>
    filterQueries({ status: [words], sentFrom: [words], clusterIds: [words], search: words, privateOnly: true }),
  'query/print-job-filter.fitsOf': (words) =>
    fitsOf({ status: [words], sentFrom: [], clusterIds: [words], search: '', privateOnly: true })(FIELDS(words)),
  'query/print-job-filter.readPrintJobFilter': (words) => [
    readPrintJobFilter({ search: words, status: words.slice(0, 9) }),
    readPrintJobFilter(words),
  ],
  'print/ledger.candidates': (words) =>
    candidates(
      { id: 'a', clusterId: 'c', jobId: words, begunAt: 0, earliest: 1, latest: 2, known: [] },
      { jobs: [], history: [{ ...readPrintJob(FIELDS('a')), jobId: words, createdAt: words }] },
      0,
    ),
  'print/plain-properties.plainProperties': (words) =>
    plainProperties({ a: words, [words]: 1, b: words.slice(0, 60_000) }),
  'events/advance.advance': (words) => {
    const { checkpoint } = advance(null, loadedWith(words));
    return advance(checkpoint, loadedWith(`x${words}`));
  },
  'watch/views/rounds.changed': (words) => changed({ a: words, b: [words] }, { a: words, b: [`${words}x`] }),
  'events/checkpoint.readCheckpoint': (words) => readCheckpoint(words),
  'events/fingerprint.fingerprint': (words) => fingerprint(seen(words)),
  'events/list-changes.readListCheckpoint': (words) => readListCheckpoint(words),
  'events/edges.parseMilestones': (words) => parseMilestones(words),
  'postgres/roster.readJson': (words) => readJson(words),
  'postgres/roster.readAbout': (words) => [
    readAbout(words),
    readAbout(`{"name":${JSON.stringify(words.slice(0, SIZE / 4))},"since":1e400}`),
  ],
  'time/guard.guard': (words) =>
    guard(
      () => {
        throw new Error(words);
      },
      (error) => error.message.length,
    )(),
  'watch/polling/cluster-list.readAllPages': (words) => readAllPages(service(words), LIMITS.deadline),
  'watch/checkpoints/memory.ClusterMemory': (words) => {
    const memory = new ClusterMemory();
    memory.record(advance(null, seen(words)).checkpoint, seen(words));
    return [memory.status, memory.checkpoint];
  },
  'watch/replication/assignments.fairShare': (words) => fairShare('a', sharers(words), [words]),
  'watch/polling/types.readJobRecord': (words) => readJobRecord(service(words), 'c', words, LIMITS.deadline),
  'watch/views/rounds.ChangeFilter': (words) => {
    const filter = new ChangeFilter();
    filter.recordSent(seen(words).status);
    return [filter.isChange(seen(words).status), filter.isChange(seen(`${words}x`).status)];
  },
  'watch/views/outages.nameFor': (words) => [nameFor('c', words), nameFor(words, null)],
  'watch/views/outages.outageNotice': (words) =>
    outageNotice(new PrintingError('TIMEOUT', phrase`It is ${words}.`), concerned(words)).message,
  'watch/views/outages.recoveryNotice': (words) => String(recoveryNotice(concerned(words), 1)),
  'watch/views/outages.signInNotice': (words) => signInNotice(phrase`It is ${words}.`, concerned(words)).message,
  'watch/checkpoints/outage-marks.OutageMarks': async (words) => {
    const memory = new OutageMemory();
    const parts = {
      store: { get: () => Promise.resolve({ marks: [markOf(words)] }) } as never,
      scope: () => Promise.resolve(['a', 's', 'w'] as const),
      clock: { now: () => 0 } as never,
      memory,
      fault: () => undefined,
    };
    await new OutageMarks(parts).load();
    assert.equal(memory.marks.length, 1);
    return memory.marks;
  },
  'watch/checkpoints/figures.withFigures': (words) => withFigures(seen('a').status, figuresOf(seen(words).status)),
  'watch/checkpoints/memory.PackedTexts': (words) => {
    const texts = new PackedTexts();
    texts.set(words, words);
    return [texts.stable, texts.volatile];
  },
  'watch/replication/peers.replicasOf': (words) => replicasOf(membershipOf(words)),
  'watch/views/outages.logReport': (words) => {
    const log = { warn: String, info: String };
    const error = new PrintingError('TIMEOUT', phrase`It is ${words}.`);
    logReport(log, { kind: 'fault', clusterId: words, error });
  },
  'queue/model/requirement.readRequire': (words) => [
    attempt(() => readRequire(words)),
    attempt(() => readRequire({ [words]: words })),
    attempt(() => readRequire({ models: [words], materials: [{ type: words }], printCores: [words] })),
  ],
  'queue/model/rules.readPrices': (words) => [
    attempt(() => readPrices(words)),
    attempt(() => readPrices({ currency: words, kilogram: { [words]: 1 } })),
  ],
  'queue/model/rules.costOf': (words) =>
    costOf(
      { currency: null, hour: 1, kilogram: { [words]: 1 } },
      { seconds: 1, materials: [{ type: words }], weights: [1] },
    ),
  'queue/model/rules.readHours': (words) => readHours(words),
  'queue/model/rules.readRules': (words) =>
    ['printers', 'tags', 'prices', 'hours', 'sort', 'retries'].map((name) =>
      attempt(() => readRules({ [name]: words })),
    ),
  'queue/model/requirement.requirementOf': (words) =>
    requirementOf({ models: [words], tags: [words] }, null, () => null),
  'queue/plan/suitability.mismatchOf': (words) => [
    mismatchText({ models: [words], tags: [words] }, PRINTER),
    mismatchText({ materials: [{ type: `other ${words}` }] }, { ...PRINTER, extruders: feedsOf(stationOf(words)) }),
  ],
  'assistant/protocol.parseMessage': (words) => attempt(() => parseMessage(words)),
  'assistant/protocol.replyTo': (words) => {
    const server = { version: '1', instructions: '', tools: () => [], call: () => assert.fail() };
    const headers = { 'mcp-protocol-version': words, 'mcp-method': words, 'mcp-name': `=?base64?${words}?=` };
    void replyTo(server, headers, { jsonrpc: '2.0', id: words, method: words, params: { _meta: { [words]: words } } });
  },
  'assistant/schema.readArguments': (words) =>
    TOOLS.map(({ input }) => attempt(() => readArguments(input, { key: words, [words]: words }))),
  'assistant/schema.plainArguments': (words) =>
    TOOLS.map(({ input }) => plainArguments(input, { key: words, jobId: words })),
  'web/access.readHosts': (words) => readHosts(words),
  'web/access.refusalOf': (words) => [
    refusalOf({ host: words, origin: words }, { hosts: [words], machine: [words], isGuarded: false }),
    refusalOf({ host: 'pi', origin: `https://${words}` }, { hosts: [], machine: [], isGuarded: true }),
  ],
  'web/access.nameIn': (words) => nameIn(words),
  'web/access.isKnownHost': (words) => isKnownHost(words, { hosts: [words], machine: [words] }),
  'board/history.lineOf': (words) => lineOf(pastPrint(words), (reason) => reason),
  'board/permission.readPress': (words) => readPress({ key: words, action: words, properties: {} }),
  'board/token.BoardToken': (words) => [new BoardToken('t', 'b').isIn(words), new BoardToken('t', 'b').isRight(words)],
  'rules/topics.readTopicPrefix': (words) => readTopicPrefix(words),
  'home-assistant/identity.deviceId': (words) => [deviceId(words, null), deviceId('c', words)],
  'home-assistant/identity.Topics': (words) => {
    const topics = new Topics('homeassistant', 'p');
    return [
      attempt(() => new Topics(words, words)),
      topics.commanded(words),
      topics.commanded(`p/${words}`),
      topics.isBirth(words),
    ];
  },
  'home-assistant/input.readInput': (words) => {
    const topics = new Topics('homeassistant', 'p');
    return [
      attempt(() => readInput({ topic: words, payload: words }, topics)),
      attempt(() => readInput({ status: { source: { type: words } } }, topics)),
    ];
  },
  'rules/web.readWebPath': (words) => readWebPath(words),
  'rules/web.readHostNames': (words) => readHostNames(words),
  'rules/web.hostnameOf': (words) => [hostnameOf(words), hostnameOf(`http://${words}`)],
  'rules/hours.parseHours': (words) => [parseHours(words), parseHours(words.slice(0, TEXT.matched))],
  'rules/queue-settings.readPrinterIds': (words) => [readPrinterIds(words), readPrinterIds([words])],
  'rules/queue-settings.readTags': (words) => [readTags(words), readTags({ [words]: [words] })],
  'rules/queue-settings.readPriceList': (words) => [readPriceList(words), readPriceList({ kilogram: { [words]: 1 } })],
  'service/printer-filter.folded': (words) => folded(words),
  'service/printer-filter.plain': (words) => plain(words),
  'events/print-event.isPrintEvent': (words) => isPrintEvent({ id: words, type: words, at: words, late: true }),
};

/** Exported functions of the folders below that get no foreign text as such, and why; `*`: the others of a file. */
const OTHERS: Record<string, string> = {
  'account/settings.numbersAsText': 'returns texts as they are',
  'account/settings.isOnThisMachine': 'reads settings by isLoopback',
  'events/extruder-edges.*': 'gets a printer that was read',
  'events/printer-edges.*': 'gets a job that was read',
  'events/faults.*': 'gets faults that were read',
  'events/standstill.*': 'gets a job that was read',
  'http/answers.limitBetween': 'counts bytes',
  'http/answers.isLongElsewhere': 'gets what AnswerShape has counted',
  'http/growing-bytes.GrowingBytes': 'gathers bytes that an answer’s limits bound',
  'http/gathered-bytes.*': 'gathers bytes that a download’s limits bound',
  'service/shapes.*': 'checks types',
  'queue/records/stored-items.*': 'checks types of records that the pack has written',
  'queue/records/stored-queue.*': 'checks types of records that the pack has written',
  'service/material.usedOf': 'compares amounts',
  'service/printer.blockingFault': 'gets a printer that was read',
  'service/printer.refusalOf': 'gets a printer that was read',
  'service/printer.hasNoExtruder': 'gets a printer that was read',
  'service/print-job.lacksChanges': 'asks whether a field is there',
  'service/printer.inOrder': 'gets parts that were read',
  'service/errors.checkFew': 'gets a number',
  'service/errors.isSuccess': 'gets a number',
  'service/errors.NewerValueError': 'gets a kind of the pack’s own',
  'state/records.setAside': 'gets a sentence',
  'state/records.damaged': 'gets a kind of the pack’s own',
  'metrics/account-metrics.*': 'counts; shows names by labelOf',
  'metrics/printer-figures.*': 'gets a status that was read',
  'metrics/exposition.endOf': 'gets no text',
  'metrics/exposition.headerOf': 'gets no text',
  'metrics/exposition.oneHot': 'gets numbers, and labels of labelOf',
  'metrics/exposition.Histogram': 'gets numbers',
  'metrics/scrape.*': 'gets figures, and names by labelOf',
  'metrics/timed-store.*': 'passes values on',
  'account/settings.unset': 'gets names',
  'control/job-control.failedAction': 'gets an error',
  'control/job-control.namelessPrint': 'gets nothing',
  'control/stop.firstFailure': 'gets results',
  'control/stop.stopJobs': 'calls readListedJobs',
  'service/errors.isOfEngine': 'gets an error',
  'service/errors.newerValue': 'gets the kind of a value',
  'service/cluster.isOnPrinter': 'compares ids that were read',
  'service/cluster.lacksJobs': 'returns no text',
  'service/cluster.hasHistory': 'returns no text',
  'report/attachment.*': 'gets a path and times that were read',
  'service/printer-filter.isEmptyFilter': 'gets a filter that was read',
  'connection/check.*': 'makes the request; its answer is limited by AnswerShape',
  'connection/paths-check.callInUse': 'gets the account’s settings',
  'connection/paths-check.readCall': 'gets the account’s settings',
  'connection/paths-check.checkDescriptions': 'asks, and gives what it gets to describedCalls and compare',
  'connection/paths-check.isParameter': 'gets a part of describedCalls',
  'connection/paths-check.segmentsOf': 'used by describedCalls',
  'connection/paths-check.checkPath': 'asks',
  'connection/connection-test.*': 'asks',
  'connection/user-checks.checkHost': 'asks',
  'connection/user-checks.checkUser': 'asks',
  'http/answers.decodeText': 'decodes',
  'http/answers.parseAnswer': 'gets what AnswerShape let pass; tested by itself',
  'http/answers.elementsOf': 'gets what was parsed of a short text',
  'http/answers.Decoding': 'asynchronous; tested with Http',
  'http/download.*': 'asks; tested by its own limits',
  'http/foreign-hosts.forbidden': 'makes a sentence',
  'http/foreign-hosts.guardedLookup': 'gets addresses of the resolver',
  'http/http.Http': 'asks',
  'http/http.ignoringContinue': 'gets bytes, at most 16 kB; tested by itself',
  'http/retry.isTransient': 'gets an error',
  'http/retry.retry': 'gets work to do',
  'http/retry.pauseAfter': 'gets numbers',
  'http/whole-text.WholeText': 'asks; its answer is limited by AnswerShape',
  'report/csv.*': 'asynchronous: tested below',
  'request/requests.Requests': 'asks',
  'rules/addresses.isLoopback': 'gets an address that was parsed',
  'rules/text.readAmount': 'gets a number',
  'service/errors.printerOffline': 'gets ids',
  'service/errors.revised': 'gets an error',
  'service/errors.unexpectedAnswer': 'gets a sentence',
  'service/errors.upgraded': 'gets no text',
  'service/errors.withIds': 'gets an error',
  'service/errors.withOutcome': 'gets an error',
  'service/print-job.describeProblem': 'gets an impediment that was read',
  'service/job-words.*': 'gets the words of a job that was read',
  'service/stored-file.storedIds': 'gets ids',
  'words/sentence.phrase': 'makes a Sentence',
  'events/advance.openQuestions': 'gets jobs that were read',
  'events/print-event.EventBuilder': 'gets jobs that were read',
  'events/print-event.makeEvent': 'gets jobs that were read',
  'events/print-event.ofJob': 'gets jobs that were read',
  'events/fingerprint.isSettled': 'gets jobs that were read',
  'events/job-edges.*': 'gets jobs that were read',
  'events/edges.RecurringEdges': 'gets printers that were read',
  'events/edges.milestone': 'gets numbers',
  'events/edges.passed': 'gets numbers',
  'events/edges.eventsFor': 'gets numbers',
  'events/observation.timeOf': 'gets jobs that were read',
  'events/observation.isReachable': 'gets jobs that were read',
  'events/observation.together': 'gets ids of printers that were read',
  'events/list-changes.advanceList': 'compares ids of printers that were read',
  'events/list-changes.withoutRebounds': 'compares ids of printers that were read',
  'events/list-changes.sameHost': 'compares ids of printers that were read',
  'events/list-changes.reboundEvent': 'compares ids of printers that were read',
  'print/ledger.newAttempt': 'gets jobs that were read',
  'print/ledger.isTooLate': 'gets a number',
  'print/ledger.isWhole': 'returns no text',
  'print/ledger.idsOf': 'gets jobs that were read',
  'print/ledger.likeliest': 'gets jobs that were read',
  'print/ledger.Ledger': 'keeps its own notes in the state store',
  'print/job-list-reader.*': 'gets jobs that were read',
  'print/search.*': 'gets jobs that were read',
  'print/cluster-print.*': 'works by the functions of other folders',
  'print/dispatcher.*': 'works by the functions of other folders',
  'print/late-results.*': 'works by the functions of other folders',
  'print/unresolved-prints.*': 'works by the functions of other folders',
  'print/prints.*': 'works by the functions of other folders',
  'print/shared-upload.*': 'works by the functions of other folders',
  'print/open-keys.OpenKeys': 'keeps its own notes in the state store',
  'print/pending-waits.*': 'keeps its own notes in the state store',
  'print/print-request.*': 'makes a record',
  'state/memory-store.*': 'keeps values as they are',
  'state/reading-thread.ReadingThread': 'returns what a file holds as it is',
  'state/grouped-updates.GroupedUpdates': 'keeps values as they are',
  'state/write-behind-store.*': 'keeps values as they are',
  'postgres/batches.*': 'hands values and rows on',
  'postgres/entries.*': 'gets no text',
  'postgres/entry-locks.*': 'compares tokens of its own',
  'postgres/roster.Roster': 'keeps what readAbout reads',
  'postgres/roster.markOf': 'hashes contents',
  'sign-in/repeats.*': 'gets an error that was read',
  'sign-in/refresh.*': 'asks; gives the answer to the readers of refusals and of tokens',
  'sign-in/token-endpoint.*': 'gets numbers',
  'sign-in/refresh-pause.*': 'keeps errors as they are',
  'sign-in/grant.SavedGrant': 'keeps grants as they are',
  'sign-in/grant.isGrants': 'looks at types only',
  'sign-in/pending-authorizations.isSignIns': 'looks at types only',
  'sign-in/grant.grantKey': 'gets the id of a node',
  'sign-in/grant.serviceOf': 'gets checked settings',
  'sign-in/grant.withGrant': 'gets checked settings',
  'sign-in/grant.signedOut': 'keeps what holderOf reads',
  'sign-in/grant.isLater': 'compares numbers of two grants',
  'sign-in/credentials.*': 'gets no text',
  'watch/polling/timing.*': 'gets no text',
  'time/concurrency.*': 'gets work to do',
  'postgres/channel.Channel': 'gives each notification to decodeMessage',
  'postgres/database.*': 'gets a code',
  'state/file-store.*': 'gives what it reads to Records',
  'state/state-folder.*': 'accepts an id of 36 characters only',
  'postgres/postgres-store.*': 'gives what it reads to Records',
  'postgres/leases.*': 'compares tokens of its own',
  'postgres/listening.*': 'hands notifications on',
  'state/membership.*': 'gets no text',
  'state/locks.*': 'gets no text',
  'state/store.positionOf': 'hashes a key',
  'state/store.valuesBelow': 'passes on what a store lists',
  'state/store.beginsWith': 'compares the words of a key',
  'state/store.pageOf': 'gets hashes',
  'postgres/schema.*': 'gets no text',
  'postgres/postgres-membership.*': 'keeps what members say of themselves, which fairShare reads',
  'postgres/sightings.*': 'compares',
  'state/records.moveState': 'moves records as they are',
  'state/seal.UnsealedFiles': 'hashes keys',
  'sign-in/sign-in-state.*': 'gets no text',
  'sign-in/tokens.Tokens': 'keeps the grant, which the functions of grant.ts read',
  'picture/image.fetchImage': 'downloads; the bytes are read by imageType',
  'picture/snapshots.Snapshots': 'asks by findPrinter, followAction and fetchImage',
  'report/delivered-rows.*': 'counts rows',
  'report/outputs.*': 'gives the bytes to CsvReader, or passes them on',
  'report/reports.*': 'gives the bytes to CsvReader, or passes them on',
  'account/credentials.*': 'gets checked settings',
  'account/pages.pagesOf': 'is readPages, in parts',
  'account/pages.QuestionAccount': 'counts',
  'state/file-system.*': 'gives the path to the file system',
  'service/printer-filter.noneMatches': 'gets names of criteria',
  'service/printer-filter.ComparableMaterial': 'is compared by matchesMaterial',
  'watch/polling/cluster-list.sift': 'asks misfitOf',
  'watch/polling/cluster-list.readClusters': 'is readAllPages, without what came with it',
  'account/authenticated-api-client.*': 'asks',
  'toolpath/bytes.bytesAt': 'passes bytes on',
  'toolpath/facts.*': 'gets what was read',
  'upload/content.compress': 'compresses bytes',
  'upload/content.fileContent': 'gives the path to the file system, and shows it cut',
  'upload/content.openContent': 'gives the path to the file system, and shows it cut',
  'upload/content.chunksOf': 'passes bytes on',
  'upload/content.exactly': 'passes bytes on',
  'upload/content.streamContent': 'passes bytes on',
  'upload/content.changedMeanwhile': 'gets no text',
  'upload/content.holdStream': 'gets no text',
  'upload/progress.*': 'gets no text',
  'upload/uploads.*': 'gets no text',
  'upload/send.register': 'asks; its answer is read by storedId and storageAddress',
  'upload/send.send': 'sends bytes; heads of answers are read by queryKeptBytes',
  'files/file-calls.*': 'gives a path to the file system, and shows it cut',
  'files/target-file.*': 'gives a path to flushFolder',
  'files/leftovers.*': 'gets no text',
  'files/scratch.*': 'gets no text',
  'library/library.Library': 'reads answers by readStored and readFile',
  'library/stored-jobs.listStoredJobs': 'asynchronous: tested with its limits',
  'control/job-control.JobControl': 'asks by dispatchAction',
  'time/retry.*': 'gets no text',
  'time/clock.*': 'gets no text',
  'time/deadline.*': 'gets no text',
  'watch/replication/assignments.Assignments': 'compares ids; what others want is read by fairShare',
  'watch/checkpoints/checkpoint-store.*': 'reads by readCheckpoint and readListCheckpoint, and keeps in ClusterMemory',
  'watch/checkpoints/outage-marks.Outage': 'creates a record',
  'watch/checkpoints/outage-marks.covers': 'compares what OutageMarks read',
  'watch/checkpoints/outage-marks.markOf': 'gets ids of clusters that are polled',
  'watch/checkpoints/outage-marks.OutageMemory': 'keeps',
  'watch/checkpoints/memory.ListMemory': 'compares clusters that were read',
  'watch/checkpoints/memory.ScopeMemory': 'stores memories',
  'watch/checkpoints/memory.WatchMemory': 'keeps',
  'watch/polling/departure.*': 'gets no text',
  'watch/polling/observer.*': 'asks; its answer is read by observe',
  'watch/polling/scheduler.*': 'gets ids and numbers',
  'watch/polling/poll-loop.*': 'gets errors and results that were read',
  'watch/polling/pollers.*': 'compares ids',
  'watch/polling/subscriptions.*': 'distributes results that were read',
  'watch/views/rounds.GroupRounds': 'passes on results that were read',
  'watch/views/rounds.TurnRounds': 'gets statuses that were read',
  'watch/views/rounds.ResultBatch': 'hands on what was read',
  'watch/views/watched-clusters.*': 'compares ids',
  'watch/views/held-clusters.*': 'compares ids',
  'watch/polling/cluster-list.ClusterList': 'asks by pagesOf and readCluster',
  'watch/views/watch.*': 'gets statuses that were read',
  'watch/views/job-end-waiter.*': 'compares ids; asks by readJobRecord',
  'watch/polling/poller.*': 'gets no text',
  'watch/polling/status-reader.*': 'returns what the service sent',
  'watch/replication/peers.OwnerNames': 'keeps the names of readAbout',
  'watch/replication/peers.LivePeers': 'compares ids',
  'watch/polling/list-poller.*': 'asks by ClusterList',
  'watch/views/outages.Outages': 'gets errors, and the names of printers by nameFor',
  'watch/replication/service-reach.*': 'asks; the answer itself is not read',
  'watch/replication/observations.*': 'compares marks; what is shared is read by readCheckpoint and storedStatus',
  'watch/checkpoints/figures.figuresOf': 'picks numbers and times',
  'watch/checkpoints/figures.jobFiguresOf': 'picks numbers',
  'queue/records/telling.Telling': 'compares ids of events',
  'queue/records/lived.LivedTime': 'adds numbers',
  'queue/records/event-ages.EventAges': 'compares ids of events',
  'queue/records/shared-reads.SharedReads': 'gets statuses that were read',
  'watch/replication/coordinator.*': 'compares ids; notes are read by CheckpointStore',
  'watch/watcher.*': 'works by the classes above',
  'metrics/queue-metrics.*': 'counts; shows names by labelOf',
  'queue/print-queue.*': 'gets changes that were read',
  'queue/plan/plan.*': 'gets numbers',
  'queue/plan/turns.*': 'gets items that were read',
  'queue/plan/order.*': 'compares numbers and ranks',
  'queue/plan/assignment.*': 'compares numbers and ids',
  'queue/model/item-changes.*': 'changes records',
  'queue/run/attempt-records.*': 'keeps records',
  'queue/run/attempts.*': 'works by the functions of other files',
  'queue/run/recalls.*': 'works by the functions of other files',
  'queue/run/seen-prints.*': 'gets statuses that were read',
  'queue/plan/printers.*': 'gets printers that were read',
  'queue/run/planning.*': 'works by the functions of other files',
  'queue/model/item.*': 'gets records',
  'queue/model/parts.*': 'counts',
  'queue/model/usage.*': 'gets facts that were read',
  'queue/plan/materials.*': 'gets requirements that were read',
  'queue/board/board.*': 'works by the functions of other files',
  'queue/board/needs.*': 'gets records',
  'queue/board/printers.*': 'gets statuses that were read',
  'queue/plan/explanation.*': 'gets printers that were read',
  'queue/records/data.*': 'asks by readStored and factsOfMetadata',
  'queue/plan/forecast.*': 'gets printers that were read',
  'queue/view.*': 'gets times',
  'queue/model/gate.*': 'gets records',
  'queue/model/gate-sights.*': 'gets statuses that were read',
  'queue/model/gate-verdicts.*': 'gets records',
  'queue/model/machine.*': 'compares ids',
  'queue/run/runtime.*': 'compares ids',
  'queue/model/requirement.completed': 'adds to texts that were read',
  'queue/model/rules.*': 'gets hours that were read',
  'queue/model/types.*': 'gets records',
  'queue/plan/inputs.*': 'works by the functions of other files',
  'queue/records/items.*': 'keeps records',
  'queue/records/outbox.*': 'keeps records',
  'queue/model/queue-record.*': 'compares ids',
  'queue/records/gates.*': 'keeps records',
  'queue/records/gate-records.*': 'keeps records',
  'queue/records/printed-plates.*': 'keeps records',
  'queue/model/rank.*': 'gets ranks of its own',
  'queue/records/records.*': 'writes records',
  'queue/records/sightings.*': 'compares ids',
  'queue/records/stored-gates.*': 'reads records',
  'queue/records/statuses.*': 'gets statuses that were read',
  'queue/records/facts.*': 'asks by readStored and factsOfMetadata',
  'queue/plan/suitability.*': 'gets requirements that were read',
  'rules/hours.*': 'gets hours that were read',
  'web/access.contentPolicy': 'gets names that were read',
  'assistant/protocol.*': 'gets errors of its own',
  'assistant/looking.*': 'gets answers that were read; shows texts by `shown`',
  'assistant/assistant.*': 'gets arguments that were read',
  'assistant/requests.*': 'keeps records',
  'assistant/rate.*': 'counts',
  'assistant/tools.*': 'gets no text',
  'board/account-state.*': 'gets statuses that were read',
  'board/board.*': 'works by the functions of other files',
  'board/document.*': 'gets boards that were read',
  'board/farm.*': 'gets statuses that were read',
  'board/history.PastPrints': 'gets items of the queue',
  'board/history.csvOf': 'joins lines',
  'board/notices.*': 'truncates its texts by `shown`',
  'board/permission.isAllowed': 'compares words',
  'board/pictures.*': 'keeps pictures',
  'board/presses.*': 'checks the key by its length',
  'board/streams.*': 'works by the functions of other files',
  'home-assistant/announcements.*': 'keeps records',
  'home-assistant/command-turns.*': 'compares topics',
  'home-assistant/handovers.*': 'keeps records',
  'home-assistant/held-events.*': 'keeps events',
  'home-assistant/remnants.*': 'keeps records',
  'home-assistant/bridge.*': 'gets statuses and messages that were read',
  'home-assistant/discovery.*': 'shortens names by `shown`',
  'home-assistant/pictures.*': 'keeps times',
  'home-assistant/state.*': 'gets statuses that were read, and shortens texts by `shown`',
  'query/choices.*': 'asks by readPages and readClusterStatus',
  'query/queries.Queries': 'asks by readPages and readClusterStatus',
};

/** All that these export must be listed above. */
const FOLDERS = readdirSync('lib', { withFileTypes: true }).flatMap((entry) => (entry.isDirectory() ? entry.name : []));

describe('hostile text of 1 MB, given to all that reads texts from elsewhere', () => {
  for (const [name, read] of Object.entries(READERS)) it(`keeps ${name} under ${MOST} ms`, () => checkCosts(read));

  const header = Array.from({ length: 200 }, (_, n) => `c${n}`).join();
  const TABLES: typeof HOSTILE = {
    ...HOSTILE,
    'one-byte lines under 200 columns': (size) => `${header}\n${to('a\n', size / 40)}`,
    'lines of 200 empty cells': (size) => `${header}\n${to(`${','.repeat(199)}\n`, size)}`,
  };
  for (const [what, make] of Object.entries(TABLES))
    it(`lets the event loop turn every 50 ms while it reads a table of ${what}`, async () => {
      const bytes = Buffer.from(make(SIZE));
      const ms = await nominalStand(async () => {
        const reader = new CsvReader();
        for (let at = 0; at < bytes.length; at += 65_536) {
          try {
            for await (const rows of reader.read(bytes.subarray(at, at + 65_536))) assert.ok(rows.length <= 250);
          } catch (error) {
            assert.equal((error as PrintingError).code, 'SERVICE_ERROR');
            break;
          }
        }
      }, MOST);
      assert.ok(ms < MOST, `${ms} ms`);
    });

  const fileOf = (name: string) => name.replace(/\.\w+$/, '.*');

  it('lists every function that is exported where texts are read', () => {
    const found = exportsIn('lib', FOLDERS);
    assert.ok(found.length > 60, 'the source was not read');
    assert.deepEqual(
      found.filter((name) => !(name in READERS) && !(name in OTHERS) && !(fileOf(name) in OTHERS)),
      [],
      'says how it gets its text in READERS, or why it gets none in OTHERS',
    );
    const known = [...Object.keys(READERS), ...Object.keys(OTHERS)].filter((name) =>
      FOLDERS.includes(name.split('/')[0] ?? ''),
    );
    assert.deepEqual(
      known.filter((name) => !found.includes(name) && !found.some((one) => fileOf(one) === name)),
      [],
      'is listed and no longer there',
    );
  });
});
