import assert from 'node:assert/strict';
import fc from 'fast-check';
import { nominalTime } from '../../../helpers/nominal-time';
import { LIST } from '../../../../lib/watch/checkpoints/checkpoint-store';
import { fairShare, type Wants } from '../../../../lib/watch/replication/assignments';
import type { Member } from '../../../../lib/state/membership';

const wants = (more: Partial<Wants>): Wants => ({ workspace: 'W1', all: false, clusters: [], waits: [], ...more });
const member = (n: number, wanted: unknown): Member => ({ id: `R${n}`, name: `r${n}`, since: n, wants: wanted });
const clusters = (count: number) => Array.from({ length: count }, (_, n) => `C${n}`);

const anyWants = fc.record({
  workspace: fc.constantFrom('W1', 'W1', 'W1', 'W2', null),
  all: fc.boolean(),
  clusters: fc.uniqueArray(fc.constantFrom(...clusters(12))),
  waits: fc.uniqueArray(fc.constantFrom(...clusters(12))),
  isLost: fc.boolean(),
});

describe('fairShare', () => {
  it('reads no more wants of another runtime than the largest farm has', async () => {
    const million = Array.from({ length: 1_000_000 }, (_, n) => `X${n}`);
    const members = [member(0, wants({ clusters: million, waits: million })), member(1, wants({ clusters: ['C0'] }))];
    const { wanted, target, awaited } = fairShare('R1', members, []);
    assert.deepEqual([wanted, target, awaited.size], [['C0'], 1, 20_000]);
    const ms = await nominalTime(() => fairShare('R1', members, []));
    assert.ok(ms < 100, `${ms} ms`);
  });

  it('differs by at most one between runtimes, and shrinks for none when another runtime leaves', () => {
    const listed = clusters(10_000);
    for (const count of [1, 2, 3, 7, 30]) {
      const members = Array.from({ length: count }, (_, n) => member(n, wants({ all: true })));
      const targets = members.map(({ id }) => fairShare(id, members, listed).target);
      assert.equal(
        targets.reduce((sum, target) => sum + target),
        10_001,
      );
      assert.ok(Math.max(...targets) - Math.min(...targets) <= 1);
      for (const gone of [0, count >> 1, count - 1])
        members.forEach(({ id }, n) => {
          if (n === gone) return;
          const rest = members.filter((_, at) => at !== gone);
          const after = fairShare(id, rest, listed).target;
          assert.ok(after >= (targets[n] ?? 0), 'no remaining runtime releases an item');
        });
    }
  });

  it('covers exactly the wanted items, for any wants', () => {
    fc.assert(
      fc.property(fc.array(anyWants, { minLength: 1, maxLength: 6 }), fc.nat(12), (wanted, count) => {
        const members = wanted.map((one, n) => member(n, one));
        const listed = clusters(count);
        const shares = members.map(({ id }) => fairShare(id, members, listed));
        for (const workspace of ['W1', 'W2']) {
          const here = shares.filter((_, n) => wanted[n]?.workspace === workspace);
          const all = new Set(here.flatMap((share) => share.wanted));
          assert.equal(
            here.reduce((sum, { target }) => sum + target, 0),
            all.size,
          );
        }
        shares.forEach((share, n) => {
          assert.ok(share.target <= share.wanted.length, 'at most the wanted items');
          for (const item of share.wanted) {
            const others = shares.filter((_, at) => at !== n && wanted[at]?.workspace === wanted[n]?.workspace);
            assert.equal(
              share.isContested(item),
              others.some((other) => other.wanted.includes(item)),
            );
          }
        });
      }),
    );
  });

  it('leaves contested items to runtimes that reach the service, and moves none while no runtime does', () => {
    const lost = member(1, wants({ clusters: ['C1', 'C2', 'C3'], isLost: true }));
    const well = member(2, wants({ clusters: ['C1', 'C2'] }));
    assert.deepEqual(fairShare('R1', [lost, well], []).wanted, ['C3']);
    assert.deepEqual(fairShare('R2', [lost, well], []).target, 2);
    const alike = (isLost: boolean) =>
      ['R1', 'R2'].map((id) => {
        const members = [1, 2].map((n) => member(n, wants({ all: true, isLost })));
        const { wanted, target } = fairShare(id, members, ['C1', 'C2', 'C3']);
        return { wanted, target };
      });
    assert.deepEqual(alike(true), alike(false));
  });

  it('leaves an awaited cluster to the runtime that watches it', () => {
    const watching = member(1, wants({ clusters: ['C1'] }));
    const waiting = member(2, wants({ waits: ['C1', 'C2'] }));
    const all = member(3, wants({ all: true }));
    assert.deepEqual(fairShare('R2', [watching, waiting], []).wanted, ['C2']);
    assert.deepEqual([...fairShare('R1', [watching, waiting], []).awaited], ['C1', 'C2']);
    assert.deepEqual(fairShare('R2', [waiting, all], ['C1', 'C2']).wanted, []);
    assert.deepEqual(fairShare('R3', [waiting, all], ['C1', 'C2']).wanted, [LIST, 'C1', 'C2']);
  });

  it('reads unknown formats of wants', () => {
    const strange = [undefined, null, 'x', { workspace: 1 }, { workspace: 'W1', clusters: [1, 'C1'], waits: 'C2' }];
    const members = [member(9, wants({ clusters: ['C1', 'C2'] })), ...strange.map((wanted, n) => member(n, wanted))];
    const share = fairShare('R9', members, []);
    assert.deepEqual([...share.wanted].sort(), ['C1', 'C2']);
    assert.equal(share.isContested('C1'), true);
  });
});
