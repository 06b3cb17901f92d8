import type { Entry } from '../../../lib/print/ledger';
import type { KeyOf } from '../../../lib/print/open-keys';
import type { WaitOwner } from '../../../lib/print/pending-waits';
import type { Scope } from '../../../lib/state/store';

/** Print keys and waits that a process begins until it is killed, by number. */
export const SCOPE: Scope = ['account', 'service', 'workspace'];
export const OWNER: WaitOwner = [...SCOPE, 'node'];
export const keyOf = (n: number): KeyOf => ({ clusterId: `cluster ${n}`, printKey: 'k' });
export const entryOf = (n: number): Entry => ({
  attempt: { id: `${n}`, ...keyOf(n), jobId: 'job', begunAt: 0, earliest: 0, latest: 1, known: [] },
  note: { n },
});
export const waitOf = (n: number) => ({ id: `${n}`, since: 0 });
