import { isoTime } from '../time/clock';
import type { QueueForecast } from './forecast';
import { isoOrNull } from './item-shape';
import type { Forecast } from './queue-api';

/** A forecast in the shape of messages (print queue, 3.2). `now`: ms since 1970. */
export const forecastShape = ({ items, orders, idleAt }: QueueForecast, now: number): Forecast => ({
  at: isoTime(now),
  items: [...items].map(([itemId, { startAt, endAt, clusterId }]) => ({
    ...{ itemId, startAt: isoOrNull(startAt), endAt: isoOrNull(endAt), clusterId },
  })),
  orders: [...orders].map(([orderId, { endAt, late }]) => ({ orderId, endAt: isoOrNull(endAt), late })),
  idleAt: isoOrNull(idleAt),
});
