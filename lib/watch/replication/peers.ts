/** Runtimes that share an account's work. */
export interface Peers {
  /** Id of this runtime; null without peers. */
  readonly id: string | null;
  /** Returns false where a runtime has ended for certain. While that is unknown it counts as live. */
  isLiving(id: string): boolean;
  /** Calls `listener` after a runtime joined or ended, or this one rejoined. Returns a function that removes it. */
  onChange(listener: () => void): () => void;
}

/** Peers of a single runtime: it inherits the work of earlier ones. */
export const NO_PEERS: Peers = { id: null, isLiving: () => false, onChange: () => () => undefined };
