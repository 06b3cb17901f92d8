import type { Node, NodeAPI } from 'node-red';
import type { Client } from '../../lib/client';
import type { LateResults, Waiter } from '../../lib/print/late-results';
import { isInFlows } from './account-link';
import { whenFlowsStarted } from './flows-started';

/** A flow node's waits for ends that come after their message (ADR 10). */
export class NodeWaits<Awaited extends object, Result> {
  /** Resolves once all nodes of the deploy exist: a message sent earlier may find no receiver. */
  readonly flowsStarted: Promise<void>;
  readonly #nodeId: string;
  #late: LateResults<Awaited, Result> | undefined;

  constructor(RED: NodeAPI, node: Node) {
    this.#nodeId = node.id;
    let cancel: () => void = () => undefined;
    this.flowsStarted = new Promise((resolve) => (cancel = whenFlowsStarted(RED, resolve)));
    node.on('close', (removed: boolean, done: () => void) => {
      cancel();
      // A disabled node counts as removed, too, but may return.
      const isGone = removed && !isInFlows(RED, node.id);
      const forgotten = isGone ? this.#late?.forget() : undefined;
      // State that can't be deleted now expires later.
      Promise.resolve(forgotten)
        .catch(() => undefined)
        .finally(done);
    });
  }

  /** Returns the node's waits. The first call opens them, and resumes the stored ones with the start of the flows. */
  open(client: Client, waiter: Omit<Waiter<Awaited, Result>, 'nodeId'>): LateResults<Awaited, Result> {
    if (this.#late) return this.#late;
    const late = (this.#late = client.lateResults({ ...waiter, nodeId: this.#nodeId }));
    void this.flowsStarted.then(() => late.resume());
    return late;
  }
}
