import assert from 'node:assert/strict';
import { applyInPieces, current, subscribe } from '../../board/state';
import type { BoardOrder, Change } from '../../lib/board/shapes';
import { pluck } from '../helpers/pluck';

describe('the state of a page', () => {
  it('keeps an order whose id is a name that every object has', async () => {
    const order = (orderId: string, good: number): BoardOrder => ({
      orderId,
      good,
      wanted: 9,
      endAt: null,
      late: false,
    });
    const whole: Change = {
      isWhole: true,
      sections: {
        orders: { ids: ['constructor', 'a'], set: { constructor: order('constructor', 1), a: order('a', 1) } },
      },
    };
    applyInPieces(whole);
    const changed = new Promise<void>((resolve) => subscribe(resolve));
    applyInPieces({ sections: { orders: { set: { a: order('a', 2) } } } });
    await changed;
    assert.deepEqual(pluck(current().orders, 'good'), [1, 2]);
  });
});
