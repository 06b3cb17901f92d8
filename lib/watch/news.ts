import { changed } from '../events/changed';
import type { ClusterStatus } from '../service/cluster-status';
import { PackedStatus } from './packed-status';

/** Decides for one watch whether a status is news after what it passed on before (reference 3.1, `send`). */
export class News {
  readonly #sent = new Map<string, PackedStatus>();

  /** Takes the status as passed on where it is. */
  isNews(status: ClusterStatus): boolean {
    const before = this.#sent.get(status.clusterId);
    if (before !== undefined && !changed(before.read(), status)) return false;
    this.sent(status);
    return true;
  }

  /** It was passed on, whether it is news or not. */
  sent(status: ClusterStatus): void {
    const before = this.#sent.get(status.clusterId);
    if (before) before.set(status);
    else this.#sent.set(status.clusterId, PackedStatus.of(status));
  }
}
