import { PLANNER } from './queue-store';
import type { Clock } from '../time/clock';
import type { AttemptKeeper } from './attempt-keeper';
import { isOpen } from './copies';
import { mayBeLate, overdue, withBlocked } from './item-changes';
import type { QueueData } from './queue-data';
import { LateForecast } from './late-forecast';
import { type ItemRecord, printingId } from './queue-item';
import { observedEnds } from './order-ends';
import type { QueueRules } from './queue-rules';
import { busyFollowed, oldForgotten, plateFollowed } from './queue-state';
import type { QueueView } from './queue-view';

interface ConsequencesDeps {
  queueId: string;
  rules: QueueRules;
  clock: Clock;
  data: QueueData;
  view: QueueView;
  keeper: AttemptKeeper;
  failed: (thrown: unknown) => void;
}

/** Records the consequences that printers, plates and the time have for items, orders and the queue. */
export class Consequences {
  readonly #deps: ConsequencesDeps;
  /** Verdicts that were applied. */
  readonly #judged = new Set<string>();

  readonly #lateForecast: LateForecast;

  constructor(deps: ConsequencesDeps) {
    this.#deps = deps;
    const { clock, data, view, failed } = deps;
    this.#lateForecast = new LateForecast({
      ...{ clock, failed, lateItems: () => view.lateItems() },
      isNeeded: () => data.withDeadline.all.length > 0,
      found: (itemId) => this.#overdue(itemId),
    });
  }

  /** Time until `ofPlan` is to be called again, ms; Infinity: after the next change. */
  get wait(): number {
    return this.#lateForecast.wait;
  }

  /** Applies the verdicts on plates, and reports the gates. Rejects if a change can't be written. */
  async ofPlates(): Promise<void> {
    const { data, rules, clock, queueId } = this.#deps;
    await this.#judge();
    const context = { queueId, now: clock.now() };
    const own = data.gates.all.filter(
      ({ clusterId }) => rules.printers.length === 0 || rules.printers.includes(clusterId),
    );
    await data.state.change(
      (state) => own.reduce((after, gate) => plateFollowed(after, gate, rules.gate, context), state),
      PLANNER,
    );
  }

  /** Records blocked and overdue items, ended orders, and an idle queue. Rejects if a change can't be written. */
  async ofPlan(): Promise<void> {
    const { data, view, clock, queueId, rules } = this.#deps;
    const context = { queueId, now: clock.now() };
    const { waiting, active, toBlock, toUnblock } = view.overview;
    for (const { itemId, blocked } of [...toBlock, ...toUnblock])
      await data.items.change(itemId, (now) => withBlocked(now, !blocked.is, null, context), PLANNER);
    for (const { itemId, deadline } of data.withDeadline.all)
      if ((deadline ?? Infinity) < context.now) await this.#overdue(itemId);
    const isBusy = waiting + active > 0;
    await data.state.change((state) => {
      const ended = observedEnds(busyFollowed(state, isBusy, context), data.items.all, rules.prices, context);
      return oldForgotten(ended, data.items.oldBefore, data.items.all);
    }, PLANNER);
    data.items.forget(data.state.record.oldBefore);
    void this.#lateForecast.look();
  }

  async #overdue(itemId: string): Promise<void> {
    const { data, queueId, clock } = this.#deps;
    const change = (record: ItemRecord) =>
      mayBeLate(record) ? overdue(record, { queueId, now: clock.now() }) : record;
    await data.items.change(itemId, change, PLANNER);
  }

  async #judge(): Promise<void> {
    const { data, queueId, keeper } = this.#deps;
    const fresh = new Map([...data.verdicts()].filter(([id, { good }]) => !this.#judged.has(`${id}/${good}`)));
    if (fresh.size === 0) return;
    const open = new Set<string>();
    for (const record of data.items.all)
      for (const attempt of record.prints) {
        const id = printingId(queueId, record.itemId, attempt);
        const verdict = fresh.get(id);
        if (verdict && attempt.state === 'finished') await keeper.judge(record.itemId, attempt, verdict.good);
        // The verdict came before the end of the print is known.
        else if (verdict && isOpen(attempt)) open.add(id);
      }
    for (const [id, { good }] of fresh) if (!open.has(id)) this.#judged.add(`${id}/${good}`);
  }
}
