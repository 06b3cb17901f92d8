import { underDeadline, type Deadline } from '../time/deadline';
import type { ApiClient } from '../account/api-client';
import { atLimit, dispatchAction, followAction, type Action } from '../action/action';
import type { Http } from '../http/http';
import { READS, retry } from '../http/retry';
import { asPrintingError, withIds, type Ids } from '../service/errors';
import { record } from '../service/json-readers';
import { isoTime, type Clock } from '../time/clock';
import { fileName } from './file-name';
import { findPrinter, type FoundPrinter } from './find-printer';
import { fetchImage } from './image';
import { SingleFlight } from '../time/single-flight';
import type { ClusterList } from '../watch/polling/cluster-list';
import { phrase } from '../words/sentence';

export interface SnapshotRequest {
  clusterId: string;
  /** Null: the cluster's host printer. */
  printerId: string | null;
  /** For all of it. */
  deadline: Deadline;
  /** Of the image, bytes. */
  maxBytes: number;
  onProgress: (progress: SnapshotProgress) => void;
}

export interface SnapshotProgress {
  stage: 'asking' | 'waiting' | 'loading';
  /** Of the image; null where it isn't known. */
  percent: number | null;
}

/** Contract 3.5. */
export interface Snapshot {
  clusterId: string;
  printerId: string;
  /** One's own copy. */
  image: Buffer;
  contentType: string;
  filename: string;
  actionId: string | null;
  /** When the service told that the picture is there, ISO 8601 UTC. */
  takenAt: string;
  /** The action's `data`, untouched. It holds the signed address. */
  raw: unknown;
}

interface Progress extends SnapshotProgress {
  /** As last heard of. */
  action: Action;
}

/** Wire facts 9; `{"data": {}}` goes with it. */
const ACTION = 'get_webcam_snapshot';
const WHAT = phrase`the picture`;

interface SnapshotsDeps {
  service: ApiClient;
  http: Http;
  clock: Clock;
  clusterList: Pick<ClusterList, 'find'>;
}

/** Takes pictures with the printers' cameras (interface, Printer action). */
export class Snapshots {
  readonly #deps: SnapshotsDeps;
  readonly #printers = new SingleFlight<FoundPrinter>();
  readonly #pictures = new SingleFlight<Snapshot, Progress>();

  constructor(deps: SnapshotsDeps) {
    this.#deps = deps;
  }

  /**
   * One picture; whoever wants one of the same printer at the same time shares it.
   * Throws NOT_ACCEPTED for an offline printer, ACTION_FAILED, TIMEOUT, TOO_LARGE, SERVICE_ERROR where the image can't be
   * had, and what the service's calls throw; with the ids that were known.
   */
  async take(request: SnapshotRequest): Promise<Snapshot> {
    const { clusterId, printerId, maxBytes, deadline, onProgress } = request;
    const ids: Ids = { clusterId, ...(printerId ? { printerId } : {}) };
    const { signal } = deadline;
    let status: string | null = null;
    const tell = ({ stage, percent, action }: Progress) => {
      status = action.status;
      ids.actionId = action.actionId ?? undefined;
      onProgress({ stage, percent });
    };
    try {
      onProgress({ stage: 'asking', percent: null });
      const find = (shared: AbortSignal) =>
        this.#within(deadline, shared, (limit) => findPrinter(this.#deps, clusterId, printerId, limit));
      const printer = await this.#printers.join(JSON.stringify([clusterId, printerId]), find, { signal });
      ids.printerId = printer.printerId;
      const picture = await this.#pictures.join(
        // Who takes smaller pictures only must not spoil those of others.
        JSON.stringify([clusterId, printer.printerId, maxBytes]),
        (shared, tellAll) =>
          this.#within(deadline, shared, (limit) =>
            this.#picture(clusterId, printer, { maxBytes, deadline: limit, tell: tellAll }),
          ),
        { signal, onProgress: tell },
      );
      return { ...picture, image: Buffer.from(picture.image) };
    } catch (thrown) {
      throw withIds(atLimit(asPrintingError(thrown), status, WHAT), ids);
    }
  }

  /** The shared work ends when nobody waits for it any more, or with the time of who began it. */
  #within<T>(begun: Deadline, shared: AbortSignal, work: (deadline: Deadline) => Promise<T>): Promise<T> {
    return underDeadline(this.#deps.clock, { ms: begun.remaining(), parent: shared }, work);
  }

  async #picture(
    clusterId: string,
    { printerId, name }: FoundPrinter,
    work: { maxBytes: number; deadline: Deadline; tell: (progress: Progress) => void },
  ): Promise<Snapshot> {
    const { service, http, clock } = this.#deps;
    const { maxBytes, deadline, tell } = work;
    const { signal } = deadline;
    const request = {
      endpoint: 'printerAction' as const,
      ids: { cluster_id: clusterId, printer_id: printerId, action: ACTION },
      what: WHAT,
      deadline,
    };
    // One whose answer was lost may go out again: all that comes of it is another picture.
    const dispatched = await retry(deadline, READS, () => dispatchAction(service, request));
    const action = await followAction(service, request, dispatched, (state) =>
      tell({ stage: 'waiting', percent: null, action: state }),
    );
    const takenAt = isoTime(clock.now());
    const onPercent = (percent: number | null) => tell({ stage: 'loading', percent, action });
    const address = record(action.details?.value)?.image_url;
    // At once, for the address expires.
    const image = await retry(deadline, READS, () => fetchImage(http, address, { signal, maxBytes, onPercent }));
    const { bytes, contentType } = image;
    const filename = fileName([name, printerId], takenAt, contentType);
    const { actionId, raw } = action;
    return { clusterId, printerId, image: bytes, contentType, filename, actionId, takenAt, raw };
  }
}
