import assert from 'node:assert/strict';
import type { Node, NodeAPI, NodeStatus } from 'node-red';
import { PrintingError } from '../../../lib/service/errors';
import {
  failureText,
  IDLE,
  left,
  percent,
  rate,
  signInText,
  staleText,
  StatusLine,
} from '../../../nodes/shared/status';
import { phrase } from '../../../lib/words/sentence';
import { pluck } from '../../helpers/pluck';
import { TurnedTime } from '../../helpers/turned-time';

describe('nodes/shared/status', () => {
  let shown: NodeStatus[];
  let line: StatusLine;
  beforeEach(() => {
    shown = [];
    const RED = {
      _: (key: string, { defaultValue: _, ...values }: Record<string, string> = {}) =>
        [key, ...Object.values(values)].join(' '),
    };
    const node = { status: (status: NodeStatus) => shown.push(status) };
    line = new StatusLine(RED as unknown as NodeAPI, node as unknown as Node);
  });

  it('shows a status once until it changes', () => {
    line.show(IDLE);
    line.show(IDLE);
    line.show({ fill: 'blue', shape: 'dot', key: 'printing', values: { percent: '10' } });
    line.show({ fill: 'blue', shape: 'dot', key: 'printing', values: { percent: '10' } });
    line.show({ fill: 'blue', shape: 'dot', key: 'printing', values: { percent: '11' } });
    assert.deepEqual(pluck(shown, 'text'), ['status.idle', 'status.printing 10', 'status.printing 11']);
  });

  it("prefers the node's own words over the shared ones", () => {
    const shared = (key: string) => `@remote-printing/node-red-remote-printing/remote-printing-account:status.${key}`;
    const texts = new Map([
      [shared('idle'), 'idle'],
      [shared('asking'), 'asking'],
      ['status.asking', 'asking the printer'],
    ]);
    const RED = { _: (key: string, { defaultValue = key } = {}) => texts.get(key) ?? defaultValue };
    const node = { status: (status: NodeStatus) => shown.push(status) };
    const own = new StatusLine(RED as unknown as NodeAPI, node as unknown as Node);
    own.show(IDLE);
    own.show({ ...IDLE, key: 'asking' });
    assert.deepEqual(pluck(shown, 'text'), ['idle', 'asking the printer']);
  });

  it('marks simulated states', () => {
    line.simulated = true;
    line.show(IDLE);
    assert.deepEqual(shown, [{ fill: 'grey', shape: 'ring', text: 'status.idle status.simulated' }]);
  });

  it('shows nothing after it was cleared', () => {
    line.show(IDLE);
    line.clear();
    line.show(failureText(new PrintingError('NETWORK', phrase`No.`)));
    assert.deepEqual(shown.slice(1), [{}]);
  });

  it('clears nothing when nothing was shown', () => {
    line.clear();
    assert.deepEqual(shown, []);
  });

  it("asks for a sign-in only when calls can't succeed", () => {
    for (const state of ['signed-in', 'unchecked'] as const) assert.equal(signInText(state), null);
    for (const state of ['signed-out', 'sign-in-needed'] as const) assert.equal(signInText(state)?.key, 'signIn');
    assert.deepEqual([signInText('unread')?.key, signInText('unread', 1)?.key], ['signInUnread', 'stale']);
  });

  it('says since when figures are stale: by the time of today, or by the date of another day', () => {
    const time = new TurnedTime(new Date(2026, 2, 9, 23, 59).getTime());
    try {
      const at = new Date(2026, 2, 9, 8, 5).getTime();
      const said = (moment = at) =>
        [staleText(moment), signInText('signed-out', moment)].map((one) => one?.values?.since);
      assert.deepEqual(said(), ['08:05', '08:05']);
      time.set(new Date(2026, 2, 10, 0, 1).getTime());
      assert.deepEqual(said(), ['03-09', '03-09']);
      assert.deepEqual(said(new Date(2025, 2, 10, 0, 1).getTime()), ['03-10', '03-10']);
    } finally {
      time.restore();
    }
  });

  it('formats seconds in the significant units', () => {
    const texts = [null, NaN, -3, 0, 89.4, 90, 89 * 60, 90 * 60, 3 * 3600 + 59 * 60].map(left);
    assert.deepEqual(texts, ['?', '?', '0 s', '0 s', '89 s', '2 min', '89 min', '1 h 30 min', '3 h 59 min']);
  });

  it('formats bytes per second', () => {
    const texts = [null, 0, 870_400, 999_499, 999_500, 9_940_000, 12_300_000].map(rate);
    assert.deepEqual(texts, ['?', '0 kB/s', '870 kB/s', '999 kB/s', '1.0 MB/s', '9.9 MB/s', '12 MB/s']);
  });

  it('rounds a percentage down', () => {
    assert.deepEqual([null, 0, 49.9, 100].map(percent), ['?', '0', '49', '100']);
  });
});
