import { changed } from '../../events/changed';
import type { ClusterStatus } from '../../service/cluster-status';
import { PackedTexts } from '../checkpoints/packed-texts';

/** Detects for one watch whether a status has changed since the last one sent (reference 3.1, `send`). */
export class ChangeFilter {
  readonly #sent = new Map<string, PackedTexts>();

  /** Returns whether the status has changed; records it as sent if so. */
  isChange(status: ClusterStatus): boolean {
    const before = this.#sent.get(status.clusterId);
    if (before && !changed(JSON.parse(before.stable), status)) return false;
    this.recordSent(status);
    return true;
  }

  /** Records a status that was sent in any case. */
  recordSent(status: ClusterStatus): void {
    const texts = this.#sent.get(status.clusterId) ?? new PackedTexts();
    texts.set(JSON.stringify(status), '');
    this.#sent.set(status.clusterId, texts);
  }
}
