import { changed } from '../../events/changed';
import type { ClusterStatus } from '../../service/cluster-status';
import { PackedTexts } from '../checkpoints/packed-texts';

/** Decides for one watch whether a status is news after what it passed on before (reference 3.1, `send`). */
export class ChangeFilter {
  readonly #sent = new Map<string, PackedTexts>();

  /** Takes the status as passed on where it is. */
  isNews(status: ClusterStatus): boolean {
    const before = this.#sent.get(status.clusterId);
    if (before && !changed(JSON.parse(before.still), status)) return false;
    this.sent(status);
    return true;
  }

  /** It was passed on, whether it is news or not. */
  sent(status: ClusterStatus): void {
    const texts = this.#sent.get(status.clusterId) ?? new PackedTexts();
    texts.set(JSON.stringify(status), '');
    this.#sent.set(status.clusterId, texts);
  }
}
