import type { Member } from '../../state/membership';
import { MEMBER } from '../../rules/limits';
import { list, record, text } from '../../service/json-readers';

/** What a runtime tells the others of the clusters that it wants to be polled. */
export interface Wants {
  /** Clusters are those of a workspace; null: it wants none yet. */
  workspace: string | null;
  /** All that are listed, and the list itself. */
  all: boolean;
  /** Watched by themselves. */
  clusters: readonly string[];
  /** Waited for, by who is content with what others read: where somebody watches the cluster, that is who polls it. */
  waits: readonly string[];
  /** This runtime can't poll (no connection, or no sign-in): runtimes that can, and want the same clusters, poll them. */
  isLost?: boolean;
}

/** The list of clusters, among the clusters that are shared out. */
export const LIST_ITEM = '*';

/** What one runtime should poll. */
export interface FairShare {
  /** All that it wants, what nobody else does first. */
  wanted: readonly string[];
  /** Of these it should have so many. */
  target: number;
  /** Whether others want it too. */
  isContested: (item: string) => boolean;
  /** Clusters that others wait for. */
  awaited: ReadonlySet<string>;
  /** Whether somebody wants the list. */
  hasList: boolean;
  /** Another one where shares are others. */
  shape: string;
}

interface Peer {
  id: string;
  wants: Wants;
  share: number;
}

/** For sums of fractions that should be whole. */
const EPSILON = 1e-6;

/**
 * A runtime's fair share: of each item as much as there are runtimes that want it, in sum. What does not divide goes to those
 * that are there for longest, so that whoever comes or goes moves no more than its own share.
 */
export function fairShare(id: string, members: readonly Member[], listed: readonly string[]): FairShare {
  const all: Peer[] = [...members]
    .sort((one, other) => one.since - other.since || (one.id < other.id ? -1 : 1))
    .map((member) => ({ id: member.id, wants: readWants(member.wants), share: 0 }));
  const own = all.find((peer) => peer.id === id);
  const workspace = own?.wants.workspace ?? null;
  if (!own || workspace === null) return NOTHING;
  const peers = all.filter(({ wants }) => wants.workspace === workspace);
  const { inList, everywhere, some } = whoWants(peers, listed);

  let items = 0;
  const share = (among: readonly Peer[], count = 1) => {
    if (among.length === 0) return;
    items += count;
    for (const peer of among) peer.share += count / among.length;
  };
  let plain = inList.size + 1;
  const plainTakers = able(everywhere);
  const takersOf = new Map([...some].map(([item, peersOf]) => [item, able(peersOf)]));
  for (const [item, takers] of takersOf) {
    if (inList.has(item)) plain--;
    share(takers);
  }
  share(plainTakers, plain);

  const takers = (item: string) => takersOf.get(item) ?? plainTakers;
  const isContested = (item: string) => takers(item).length > 1;
  const candidates = own.wants.all ? [LIST_ITEM, ...inList, ...takersOf.keys()] : takersOf.keys();
  const wanted = new Set<string>();
  for (const item of candidates) if (takers(item).includes(own)) wanted.add(item);
  const contested = [...wanted].filter(isContested);
  const rank = peers.indexOf(own);
  return {
    // Who takes at the same time takes others.
    wanted: [...[...wanted].filter((item) => !isContested(item)), ...rotated(contested, rank / peers.length)],
    target: targetOf(own, peers, items),
    isContested,
    awaited: new Set(peers.flatMap((peer) => (peer === own ? [] : peer.wants.waits))),
    hasList: everywhere.length > 0,
    shape: JSON.stringify([items, peers.map((peer) => [peer.id, Math.round(peer.share * 1000)])]),
  };
}

/** Those who can poll; where none of them can, it is as if all could, and nothing moves. */
function able(peers: readonly Peer[]): readonly Peer[] {
  const some = peers.filter(({ wants }) => wants.isLost !== true);
  return some.length > 0 ? some : peers;
}

/** Who wants what: `some` has the items that others want than those who want all. */
function whoWants(peers: readonly Peer[], listed: readonly string[]) {
  const everywhere = peers.filter(({ wants }) => wants.all);
  const inList = new Set(everywhere.length > 0 ? listed : []);
  const some = new Map<string, Peer[]>();
  const add = (item: string, peer: Peer) => {
    let peersOf = some.get(item);
    if (!peersOf) some.set(item, (peersOf = inList.has(item) ? [...everywhere] : []));
    if (!peersOf.includes(peer)) peersOf.push(peer);
  };
  for (const peer of peers) for (const item of peer.wants.clusters) add(item, peer);
  const watched = new Set([...inList, ...some.keys()]);
  for (const peer of peers) for (const item of peer.wants.waits) if (!watched.has(item)) add(item, peer);
  return { inList, everywhere, some };
}

/** Whole numbers that make the sum: what is left over goes to the first. */
function targetOf(own: Peer, peers: readonly Peer[], items: number): number {
  const whole = (peer: Peer) => Math.floor(peer.share + EPSILON);
  let left = items - peers.reduce((sum, peer) => sum + whole(peer), 0);
  for (const peer of peers) {
    const more = left > 0 && peer.share - whole(peer) > EPSILON ? 1 : 0;
    if (peer === own) return whole(peer) + more;
    left -= more;
  }
  return 0;
}

const rotated = (items: readonly string[], by: number): string[] => {
  const from = Math.floor(items.length * by);
  return [...items.slice(from), ...items.slice(0, from)];
};

const NOTHING: FairShare = {
  wanted: [],
  target: 0,
  isContested: () => false,
  awaited: new Set(),
  hasList: false,
  shape: '',
};

/** Wants as another runtime wrote them: of another version they may be anything. */
function readWants(stored: unknown): Wants {
  const wants = record(stored) ?? {};
  return {
    workspace: typeof wants.workspace === 'string' ? wants.workspace : null,
    all: wants.all === true,
    clusters: strings(wants.clusters),
    waits: strings(wants.waits),
    isLost: wants.isLost === true,
  };
}

const strings = (value: unknown): string[] =>
  list(value)
    .slice(0, MEMBER.clusters)
    .filter((entry) => text(entry) !== null) as string[];
