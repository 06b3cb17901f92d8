import type { NodeAPI, NodeMessage } from 'node-red';
import type { QueueApi, ItemTarget } from '../../lib/queue/model/types';
import type { Deadline } from '../../lib/time/deadline';
import { phrase } from '../../lib/words/sentence';
import { definition } from './definition';
import {
  needPrinter,
  needTarget,
  readChanges,
  readJudgement,
  readListFilter,
  readNamedCopy,
  readPause,
  readPlace,
  readNamedPrinter,
  readTarget,
  readVerdict,
  wordsIn,
} from './read-message';
import { invalid, readFlag } from '../shared/inputs';

type Option = (typeof definition.properties.action.options)[number];
type QueueAction = Exclude<Option, 'msg.action'>;

const ACTIONS = definition.properties.action.options.filter((option): option is QueueAction => option !== 'msg.action');

/** The action of a message, from the node's setting or from the message. Throws INVALID_INPUT. */
export function readAction(chosen: string, msg: NodeMessage): QueueAction {
  const named = chosen === 'msg.action' ? wordsIn(msg, 'action') : chosen;
  if (!named) throw invalid(phrase`Choose an action in the node or set msg.action.`);
  const action = ACTIONS.find((known) => known === named);
  if (!action) throw invalid(phrase`The property action must be one of ${ACTIONS.join(', ')}, but it is ${named}.`);
  return action;
}

/** Carries out an action that adds nothing and shows no board, and returns its payload (reference 3.6). */
export async function actOn(
  RED: NodeAPI,
  api: QueueApi,
  action: Exclude<QueueAction, 'add' | 'board'>,
  msg: NodeMessage,
  deadline: Deadline,
): Promise<unknown> {
  /** The items of the target: one, or an array for an order. */
  const items = async <T>(act: (target: ItemTarget) => Promise<T[]>): Promise<T | T[] | undefined> => {
    const target = needTarget(msg);
    const found = await act(target);
    return 'orderId' in target ? found : found[0];
  };
  switch (action) {
    case 'list':
      return deadline.wait(api.list(readListFilter(msg)));
    case 'explain':
      return deadline.wait<unknown>(readTarget(msg) ? items((target) => api.explain(target)) : api.explainQueue());
    case 'forecast':
      return deadline.wait(api.forecast());
    case 'update':
      return items((target) => api.update(target, readChanges(RED, msg, target), deadline));
    case 'move':
      return items((target) => api.move(target, readPlace(msg), deadline));
    case 'settle':
      return items((target) => api.settle(target, readVerdict(msg), deadline));
    case 'retry':
      return items((target) => api.retry(target, deadline, readNamedCopy(msg)));
    case 'remove':
    case 'hold':
    case 'release':
      return items((target) => api[action](target, deadline));
    case 'plate-cleared':
      return api.plateCleared(needPrinter(msg), readFlag(msg, 'good') ?? true, deadline, readJudgement(msg));
    case 'pause':
      return api.pause(readPause(msg), deadline);
    case 'resume':
      return api.resume(readNamedPrinter(msg), deadline);
  }
}
