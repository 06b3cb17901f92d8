import { type StateStore, valuesBelow } from '../state/store';
import type { Announced } from './discovery';
import type { Prefixes } from './identity';

/** Records of a page of the store. */
const PAGE = 200;

/**
 * Announcement of a printer, saved under `['home-assistant', nodeId, id]`: with it, a printer that is offline after a
 * restart still has its parts, and one that leaves the account, or the node, leaves nothing behind.
 */
export interface Announcement {
  version: 1;
  id: string;
  clusterId: string;
  announced: Announced;
  /** Media type of its pictures. */
  contentType: string;
  /** Prefixes of its topics; missing in early records. */
  prefixes?: Prefixes | undefined;
}

export class Announcements {
  constructor(
    private readonly store: StateStore,
    private readonly nodeId: string,
  ) {}

  /** Null for a printer that was never announced. Rejects if it can't be read now. */
  async read(id: string): Promise<Announcement | null> {
    return checked(await this.store.get<Announcement>(['home-assistant', this.nodeId, id]));
  }

  /** All printers that were announced and not removed since. Rejects if they can't be read now. */
  async all(): Promise<Announcement[]> {
    const found: Announcement[] = [];
    const stored = valuesBelow<Announcement>(this.store, ['home-assistant', this.nodeId], { limit: PAGE });
    for await (const { value } of stored) {
      const announcement = checked(value);
      if (announcement) found.push(announcement);
    }
    return found;
  }

  /** The message has gone out, so the store keeps the record until it can write it. */
  write(announcement: Announcement): Promise<void> {
    return this.store.put(['home-assistant', this.nodeId, announcement.id], announcement, { insist: true });
  }

  forget(id: string): Promise<void> {
    return this.store.delete(['home-assistant', this.nodeId, id], { insist: true });
  }
}

/** Null for a record of another version. */
const checked = (record: Announcement | undefined): Announcement | null => (record?.version === 1 ? record : null);
