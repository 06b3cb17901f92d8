import type { EventDraft } from '../../events/print-event';
import type { Thresholds } from '../../events/edges';
import type { PollResult } from './poll-result';

/** Receiver of the events of one cluster. Events that it was given count as delivered. */
export interface EventReceiver {
  /** Thresholds at which steps become its events. */
  readonly thresholds: Thresholds;
  /** Subscriber with the same recipient of events: it receives the events while both are subscribed. */
  readonly beside?: unknown;
  /** Returns true where the subscriber received any event. */
  deliver(drafts: readonly EventDraft[]): boolean;
}

/** Subscriber to the polls of one cluster. */
export interface Subscriber {
  /** Interest announced to other runtimes; null: none. */
  readonly wants: 'all' | 'cluster' | 'wait' | null;
  /** Polling interval, ms. */
  readonly interval: number;
  readonly paused: boolean;
  /** Null: it receives no events. */
  readonly events: EventReceiver | null;
  /** Called after every poll. `due`: it is the subscriber's turn, and the result is its own copy. */
  onPoll(result: PollResult, due: boolean): void;
  /**
   * Whether the subscriber keeps its turn when another one requests a poll shortly before it. `onPoll` then shows the
   * result at once, and `onTurn` receives it again at the turn, since no time is left for another poll.
   */
  readonly keepsTurn?: boolean;
  onTurn?(result: PollResult): void;
  /** Called after this runtime gained or lost the regular polls of a cluster. */
  assigned?(clusterId: string, isOurs: boolean): void;
}

export type EventSubscriber = Subscriber & { readonly events: EventReceiver };
