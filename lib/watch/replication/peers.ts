/** The runtimes that share an account's work, as far as those need to know who wait for something. */
export interface Peers {
  /** This one; null where there are no others. */
  readonly id: string | null;
  /** False where one has ended for certain: while nobody can tell, it lives. */
  isLiving(id: string): boolean;
  /** Calls `listener` after one has come or ended, and when this one can tell again; the returned function ends that. */
  onChange(listener: () => void): () => void;
}

/** One runtime by itself: whatever others left behind is its own. */
export const NO_PEERS: Peers = { id: null, isLiving: () => false, onChange: () => () => undefined };
