import type { Node, NodeAPI } from 'node-red';
import { numbersAsText, readSettings, readToken } from '../../lib/account/settings';
import { Client } from '../../lib/client';
import { onDemand } from '../../lib/on-demand';
import { asPrintingError, upgraded } from '../../lib/service/errors';
import { grantKey } from '../../lib/sign-in/grant';
import { WatchMemory } from '../../lib/watch/checkpoints/memory';
import { isInFlows, type AccountNode, type OpenAccount } from '../shared/account-link';
import { closeInTime, idInEditor } from '../shared/config-node';
import type { Sentence } from '../../lib/words/sentence';
import type { SavedCredentials, Saved } from '../shared/definition';
import { translated } from '../shared/language';
import { metricsOf } from '../shared/metrics-setting';
import { runtimeOf } from '../shared/runtime';
import { checkSettings, settingsOf } from '../shared/settings';
import { definition } from './definition';

/** Its other settings are text, which `readSettings` checks. */
const { service, signIn, metrics } = definition.properties;
const CHOICES = { properties: { service, signIn, metrics } };

type Account = AccountNode & Node<SavedCredentials<typeof definition>>;

const simulatedService = onDemand(
  () => require('../shared/simulated-service') as typeof import('../shared/simulated-service'),
  () => {
    throw upgraded();
  },
);

export default function AccountNode(this: Account, RED: NodeAPI, saved: Saved<typeof definition>): void {
  RED.nodes.createNode(this, saved);
  const accountId = idInEditor(this);
  const runtime = runtimeOf(RED);
  const log = {
    warn: (sentence: Sentence) => this.warn(translated(RED, sentence)),
    info: (sentence: Sentence) => this.log(translated(RED, sentence)),
  };
  const memory = runtime.watching.get(accountId) ?? new WatchMemory();
  runtime.watching.set(accountId, memory);
  const { store, clock, leftovers, refreshesUnderWay, closeTimeout } = runtime;
  const grace = Math.max(0, closeTimeout - 1_000);
  const settings = settingsOf(definition, saved);
  this.metrics = metricsOf(RED, { ...settings, ...this.credentials, accountId });
  const shared = {
    ...{ accountId, store, clock, leftovers, log, memory, refreshesUnderWay, grace, runtimeName: runtime.name },
    metrics: this.metrics?.counted,
  };
  let simulatorUrl: string | null = null;

  const open = async (): Promise<OpenAccount> => {
    checkSettings(CHOICES, { service: saved.service, signIn: saved.signIn, metrics: saved.metrics });
    if (settings.metrics) readToken('metricsToken', { ...this.credentials }.metricsToken);
    const isReal = settings.service !== 'simulator';
    runtime.checkState(isReal);
    if (isReal) {
      const read = readSettings({ ...saved, ...this.credentials });
      return { client: new Client({ ...shared, settings: read }), simulated: null };
    }
    const { openSimulated } = simulatedService();
    const simulated = await openSimulated(runtime, accountId);
    const { settings: given } = simulated;
    return { client: new Client({ ...shared, store: runtime.ownStore, settings: given, simulated: true }), simulated };
  };
  const leave = runtime.upkeep.use();
  // Two clients of one account would divide its events between them.
  const share = JSON.stringify([accountId, settings, this.credentials]);
  const opening = runtime.clients.join(share, open);
  opening.then(
    ({ simulated }) => (simulatorUrl = simulated?.page ?? null),
    (error: unknown) => log.warn(asPrintingError(error).sentence),
  );
  this.client = async () => (await opening).client;
  this.accountId = accountId;
  this.simulatorUrl = () => simulatorUrl;
  this.config = () => numbersAsText({ ...saved, ...this.credentials });
  runtime.accounts.add(this);

  const close = async (removed: boolean): Promise<void> => {
    if (runtime.clients.leave(share)) {
      const isDeleted = removed && !isInFlows(RED, accountId);
      // A slow renewal would hold the sign-in's lock. In a shared database it may be the sign-in of another Node-RED.
      if (isDeleted && !store.join) refreshesUnderWay.cancel(accountId);
      const { client = null, simulated = null } = (await opening.catch(() => null)) ?? {};
      await client?.close().catch(() => undefined);
      await simulated?.close().catch(() => undefined);
      if (isDeleted) await forget(client).catch(() => undefined);
    }
    await leave().catch(() => undefined);
  };
  /** Deletes the grant of a deleted account, unless another Node-RED has the account, too. */
  const forget = async (client: Client | null): Promise<void> => {
    const { authorization, ownStore } = runtime;
    await ownStore.delete(grantKey(accountId), { insist: true });
    // Other Node-REDs with the account are known only to a client that joined them.
    const isShared = store.join !== undefined && (!client || client.simulated || (await client.isElsewhere()));
    if (!isShared) await authorization.delete(accountId);
  };

  this.on('close', (removed: boolean, done: () => void) => {
    runtime.accounts.delete(this);
    closeInTime(runtime, close(removed), done);
  });
}
