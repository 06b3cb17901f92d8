import type { Member } from '../../state/membership';
import { MEMBER } from '../../rules/limits';
import { list, record, text } from '../../service/json-readers';
import { LIST_ITEM } from '../checkpoints/ownership';

/** Clusters that a runtime wants polled, as published to its peers. */
export interface Wants {
  /** Workspace of the clusters; null: it wants none yet. */
  workspace: string | null;
  /** Wants all listed clusters, and the list itself. */
  all: boolean;
  /** Clusters watched individually. */
  clusters: readonly string[];
  /** Awaited clusters: results polled elsewhere suffice. A runtime that watches such a cluster polls it. */
  waits: readonly string[];
  /** Can't poll (no connection, or no sign-in): runtimes that can, and want the same clusters, poll them. */
  isLost?: boolean;
}

/** Share of one runtime. */
export interface FairShare {
  /** All wanted items, uncontested ones first. */
  wanted: readonly string[];
  /** Number of items to hold. */
  target: number;
  /** Whether another runtime wants the item as well. */
  isContested: (item: string) => boolean;
  /** Clusters that other runtimes wait for. */
  awaited: ReadonlySet<string>;
  /** Whether any runtime wants the list. */
  hasList: boolean;
  /** Fingerprint of all shares: changes exactly when they do. */
  shape: string;
}

interface Peer {
  id: string;
  wants: Wants;
  share: number;
}

/** Tolerance for sums of fractions that should be whole. */
const EPSILON = 1e-6;

/**
 * Computes a runtime's fair share. Each item counts in equal parts for all runtimes that want it. The remainder goes to
 * the longest-running members, so that a joining or leaving runtime moves no more than its own share.
 */
export function fairShare(id: string, members: readonly Member[], listed: readonly string[]): FairShare {
  const allPeers: Peer[] = [...members]
    .sort((one, other) => one.since - other.since || (one.id < other.id ? -1 : 1))
    .map((member) => ({ id: member.id, wants: readWants(member.wants), share: 0 }));
  const own = allPeers.find((peer) => peer.id === id);
  const workspace = own?.wants.workspace ?? null;
  if (!own || workspace === null) return NOTHING;
  const peers = allPeers.filter(({ wants }) => wants.workspace === workspace);
  const { inList, everywhere, byItem } = groupByItem(peers, listed);

  let items = 0;
  const share = (among: readonly Peer[], count = 1) => {
    if (among.length === 0) return;
    items += count;
    for (const peer of among) peer.share += count / among.length;
  };
  let listItems = inList.size + 1;
  const listPollers = ableToPoll(everywhere);
  const pollersOf = new Map([...byItem].map(([item, peersOf]) => [item, ableToPoll(peersOf)]));
  for (const [item, pollers] of pollersOf) {
    if (inList.has(item)) listItems--;
    share(pollers);
  }
  share(listPollers, listItems);

  const pollers = (item: string) => pollersOf.get(item) ?? listPollers;
  const isContested = (item: string) => pollers(item).length > 1;
  const candidates = own.wants.all ? [LIST_ITEM, ...inList, ...pollersOf.keys()] : pollersOf.keys();
  const wanted = new Set<string>();
  for (const item of candidates) if (pollers(item).includes(own)) wanted.add(item);
  const contested = [...wanted].filter(isContested);
  const rank = peers.indexOf(own);
  return {
    // Rotated by rank, so that concurrent claims of several runtimes differ.
    wanted: [...[...wanted].filter((item) => !isContested(item)), ...rotated(contested, rank / peers.length)],
    target: targetOf(own, peers, items),
    isContested,
    awaited: new Set(peers.flatMap((peer) => (peer === own ? [] : peer.wants.waits))),
    hasList: everywhere.length > 0,
    shape: JSON.stringify([items, peers.map((peer) => [peer.id, Math.round(peer.share * 1000)])]),
  };
}

/** Returns the runtimes that can poll. If none can, returns all, so that nothing moves. */
function ableToPoll(peers: readonly Peer[]): readonly Peer[] {
  const able = peers.filter(({ wants }) => wants.isLost !== true);
  return able.length > 0 ? able : peers;
}

/** Groups runtimes by wanted item. `byItem`: items wanted not only by those that want all (`everywhere`). */
function groupByItem(peers: readonly Peer[], listed: readonly string[]) {
  const everywhere = peers.filter(({ wants }) => wants.all);
  const inList = new Set(everywhere.length > 0 ? listed : []);
  const byItem = new Map<string, Peer[]>();
  const add = (item: string, peer: Peer) => {
    let peersOf = byItem.get(item);
    if (!peersOf) byItem.set(item, (peersOf = inList.has(item) ? [...everywhere] : []));
    if (!peersOf.includes(peer)) peersOf.push(peer);
  };
  for (const peer of peers) for (const item of peer.wants.clusters) add(item, peer);
  const watched = new Set([...inList, ...byItem.keys()]);
  for (const peer of peers) for (const item of peer.wants.waits) if (!watched.has(item)) add(item, peer);
  return { inList, everywhere, byItem };
}

/** Rounds the shares to whole numbers with the same sum: the remainder goes to the first members. */
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

/** Reads the wants of a peer, which may run another version. */
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
