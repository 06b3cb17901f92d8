import { invalidValue, recordNotFound, Refusal } from '../../http/refusals';
import type { Action, Cluster } from '../state';
import { JOB_ACTIONS, refuseJobAction } from './job-actions';
import { PRINTER_ACTIONS } from './printer-actions';
import type { ActionRule } from './rule';

const ACTIONS_KEPT = 100;

/** A client's request: `target` is the uuid of a printer or a print job. */
export type ActionRequest = Pick<Action, 'kind' | 'target' | 'name' | 'data' | 'userId'>;

/** Returns the rule of an action; throws invalidValue for an unknown one. */
export function actionRule(kind: Action['kind'], name: string): ActionRule {
  const rules: Record<string, ActionRule> = kind === 'printer' ? PRINTER_ACTIONS : JOB_ACTIONS;
  const rule = Object.hasOwn(rules, name) ? rules[name] : undefined;
  if (!rule) throw invalidValue('Action', 'action', `must be one of ${Object.keys(rules).join(', ')}`, name);
  return rule;
}

/** Accepts or refuses an action. Times in virtual ms. */
export function dispatchAction(
  cluster: Cluster,
  request: ActionRequest,
  about: { actionId: string; at: number; duration: number },
): Action {
  const { kind, target, name, data, userId } = request;
  const { capability, check } = actionRule(kind, name);
  const wholeQueue = [...cluster.queue, ...cluster.history];
  const job = kind === 'print_job' ? wholeQueue.find(({ uuid }) => uuid === target) : undefined;
  if (kind === 'print_job' && !job) throw recordNotFound('PrintJob');
  if (kind === 'printer' && !cluster.printers.some(({ uuid }) => uuid === target)) throw recordNotFound('Printer');
  check?.(data);
  const waits = !cluster.online && cluster.actionSwitch.offline === 'waits';
  if ((!cluster.online && !waits) || !cluster.authorized)
    throw new Refusal(409, 'printerInactive', 'The printer is offline or inactive.');
  if (lacks(cluster, capability))
    throw new Refusal(409, 'actionNotSupported', 'The printer does not support this action.');
  const reason = job && refuseJobAction(job, name);
  if (reason !== undefined) throw new Refusal(409, 'actionNotPossible', reason);

  const { outcome = 'success' } = cluster.actionSwitch;
  const action: Action = {
    actionId: about.actionId,
    kind,
    target,
    name,
    data,
    ...(userId === undefined ? {} : { userId }),
    sentAt: about.at + about.duration / 2,
    endsAt: waits || outcome === 'stuck' ? null : about.at + about.duration,
    outcome: outcome === 'stuck' || outcome === 'silent' ? 'success' : outcome,
    ended: false,
    // Without this capability, a printer executes actions without reporting their end (wire facts 12.6).
    silent: outcome === 'silent' || lacks(cluster, `${kind}_action_response`),
    waits,
    scene: null,
  };
  cluster.actions = [...cluster.actions, action].slice(-ACTIONS_KEPT);
  return action;
}

/** A printer without any listed capability is assumed to have all (wire facts 12.6). */
const lacks = (cluster: Cluster, capability: string): boolean =>
  cluster.capabilities.length > 0 && !cluster.capabilities.includes(capability);

/** Status of an action: pending, sent, then its outcome (wire facts 9). */
export function actionStatus(action: Action, at: number): string {
  if (action.ended && !action.silent) return action.outcome;
  if (action.waits) return 'pending';
  return at <= action.sentAt ? 'pending' : 'sent';
}
