import type { Key } from '../../state/store';

/** Names by which other runtimes know this account (`topic`) and this runtime (`name`). */
export interface Sharing {
  topic: Key;
  name: string;
}

/** Reason for not polling: another runtime polls (`by`: its name, if known), or the store is unreachable. */
export type Standby = { why: 'elsewhere'; by: string | null } | { why: 'store' };
