import type { PlanInput } from './plan-types';

/** The state of a queue from which a forecast starts. `items` has all that have not ended, also without waiting copies. */
export interface ForecastInput extends PlanInput {
  /** Order of each item that belongs to one, by item. */
  orders: ReadonlyMap<string, string>;
  /** Prints of the queue that are assigned, dispatched or printing. */
  active: readonly ActivePrint[];
}

export interface ActivePrint {
  itemId: string;
  clusterId: string;
  /** ms since 1970; an unknown end counts as an hour from now. */
  startAt: number;
  endAt: number | null;
}

/** Result of a forecast; null: unknown, or beyond its end. Times in ms since 1970. */
export interface QueueForecast {
  items: ReadonlyMap<string, ItemForecast>;
  orders: ReadonlyMap<string, { endAt: number | null; late: boolean }>;
  /** When no copy is active or waiting, apart from items that can't be planned. */
  idleAt: number | null;
}

export interface ItemForecast {
  /** Start of its first print, present or coming, and the cluster. */
  startAt: number | null;
  clusterId: string | null;
  /** End of its last copy. */
  endAt: number | null;
}
