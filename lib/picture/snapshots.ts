import type { ApiClient } from '../account/api-client';
import { type Action, atLimit, dispatchAction, followAction } from '../action/action';
import { joined } from '../http/gathered-bytes';
import type { Http } from '../http/http';
import { READS, retry } from '../http/retry';
import { readClusterStatus, statusRecord } from '../service/cluster';
import { asPrintingError, type Ids, printerOffline, PrintingError, withIds } from '../service/errors';
import { record } from '../service/json-readers';
import { type Clock, isoTime } from '../time/clock';
import { copyInTurns, Semaphore, SingleFlight } from '../time/concurrency';
import type { Deadline } from '../time/deadline';
import type { ClusterList } from '../watch/polling/cluster-list';
import type { StatusReader } from '../watch/polling/status-reader';
import { phrase } from '../words/sentence';
import { fetchImage, fileName } from './image';

interface SnapshotRequest {
  clusterId: string;
  /** Null for the cluster's host printer. */
  printerId: string | null;
  deadline: Deadline;
  /** Largest image, bytes. */
  maxBytes: number;
  onProgress: (progress: SnapshotProgress) => void;
}

export interface SnapshotProgress {
  stage: 'asking' | 'waiting' | 'loading';
  /** Percentage of the image; null if unknown. */
  percent: number | null;
}

/** A picture (reference 3.5). */
interface Snapshot {
  clusterId: string;
  printerId: string;
  /** A copy of the caller's own. */
  image: Buffer;
  contentType: string;
  filename: string;
  actionId: string | null;
  /** Time at which the service reported the picture, ISO 8601 UTC. */
  takenAt: string;
  /** The action's `data`, unchanged. It holds the signed URL. A copy, too. */
  raw: unknown;
}

interface Progress extends SnapshotProgress {
  action: Action;
}

/** Name of the action (wire facts 9); its body is `{"data": {}}`. */
const ACTION = 'get_webcam_snapshot';
const WHAT = phrase`the picture`;

interface SnapshotsDeps {
  service: ApiClient;
  http: Http;
  clock: Clock;
  clusterList: Pick<ClusterList, 'find'>;
  statusReader: StatusReader;
}

/** Takes pictures with the printers' cameras (interface, Printer action). */
export class Snapshots {
  readonly #printers = new SingleFlight<FoundPrinter>();
  readonly #pictures = new SingleFlight<Snapshot, Progress>();
  /** Copies are made one after the other: any number of callers may share a picture. */
  readonly #copies = new Semaphore(1);

  constructor(private readonly deps: SnapshotsDeps) {}

  /**
   * Takes one picture; concurrent requests for the same printer share it. Throws NOT_ACCEPTED for an offline printer,
   * ACTION_FAILED, TIMEOUT, TOO_LARGE, SERVICE_ERROR if the image can't be downloaded, and the errors of the
   * service's calls; with the ids known by then.
   */
  async take(request: SnapshotRequest): Promise<Snapshot> {
    const { clusterId, printerId, maxBytes, deadline, onProgress } = request;
    const ids: Ids = { clusterId, ...(printerId ? { printerId } : {}) };
    let status: string | null = null;
    const report = ({ stage, percent, action }: Progress) => {
      status = action.status;
      ids.actionId = action.actionId ?? undefined;
      onProgress({ stage, percent });
    };
    try {
      onProgress({ stage: 'asking', percent: null });
      const find = (shared: Deadline) => findPrinter(this.deps, clusterId, printerId, shared);
      const printer = await this.#printers.join(JSON.stringify([clusterId, printerId]), find, { deadline });
      ids.printerId = printer.printerId;
      const picture = await this.#pictures.join(
        // Keyed by size as well, so that a caller with a lower limit doesn't fail the others.
        JSON.stringify([clusterId, printer.printerId, maxBytes]),
        (shared, reportAll) => this.#picture(clusterId, printer, maxBytes, shared, reportAll),
        { deadline, onProgress: report },
      );
      return await deadline.wait(this.#copies.hold(() => copyOf(picture, deadline.clock)));
    } catch (thrown) {
      throw withIds(atLimit(asPrintingError(thrown), status, WHAT), ids);
    }
  }

  async #picture(
    clusterId: string,
    { printerId, name }: FoundPrinter,
    maxBytes: number,
    deadline: Deadline,
    report: (progress: Progress) => void,
  ): Promise<Snapshot> {
    const { service, http, clock } = this.deps;
    const { signal } = deadline;
    const request = {
      endpoint: 'printerAction' as const,
      ids: { cluster_id: clusterId, printer_id: printerId, action: ACTION },
      what: WHAT,
      deadline,
    };
    // May be repeated after a lost answer, which costs no more than another picture.
    const dispatched = await retry(deadline, READS, () => dispatchAction(service, request));
    const action = await followAction(service, request, dispatched, (state) =>
      report({ stage: 'waiting', percent: null, action: state }),
    );
    const takenAt = isoTime(clock.now());
    const onPercent = (percent: number | null) => report({ stage: 'loading', percent, action });
    const address = record(action.details?.value)?.image_url;
    // Downloaded at once, as the URL expires.
    const image = await retry(deadline, READS, () => fetchImage(http, address, { signal, maxBytes, onPercent }));
    const { bytes, contentType } = image;
    const filename = fileName([name, printerId], takenAt, contentType);
    const { actionId, raw } = action;
    return { clusterId, printerId, image: bytes, contentType, filename, actionId, takenAt, raw };
  }
}

/** A caller's own copy, made in turns of the event loop. */
async function copyOf(picture: Snapshot, clock: Clock): Promise<Snapshot> {
  return { ...picture, image: await joined([picture.image]), raw: await copyInTurns(picture.raw, clock) };
}

export interface FoundPrinter {
  printerId: string;
  /** Null if the service lists only other printers of the cluster. */
  name: string | null;
}

const UUID = /^[\da-f]{8}(-[\da-f]{4}){3}-[\da-f]{12}$/i;

/**
 * Finds the printer for an action: the named one, or the cluster's host printer (wire facts 9). Reads the status of the
 * cluster first, as an offline cluster's actions would wait forever; uses the cached list for the identity, which
 * hardly ever changes. Throws NOT_ACCEPTED if the cluster is offline, NOT_FOUND if the cluster or its printer is
 * unknown.
 */
export async function findPrinter(
  { statusReader, clusterList }: Pick<SnapshotsDeps, 'statusReader' | 'clusterList'>,
  clusterId: string,
  printerId: string | null,
  deadline: Deadline,
): Promise<FoundPrinter> {
  const wire = statusRecord(await statusReader.read(clusterId, { deadline })) ?? {};
  const listed = await clusterList.find(clusterId, deadline);
  const status = readClusterStatus(wire, { clusterId, receivedAt: '', identity: listed ?? null });
  if ((status.online ?? listed?.online) === false) throw printerOffline();
  const known = [...(listed?.host ? [listed.host] : []), ...status.printers];
  if (printerId) return { printerId, name: known.find((printer) => printer.printerId === printerId)?.name ?? null };
  // The list is truncated for some accounts (`limit_reached`, wire facts, trap 27), and lacks the printers for others.
  const host = known.find((printer) => printer.printerId);
  if (host?.printerId) return { printerId: host.printerId, name: host.name ?? status.name };
  if (listed?.hostGuid && UUID.test(listed.hostGuid)) return { printerId: listed.hostGuid, name: listed.name };
  throw new PrintingError(
    'NOT_FOUND',
    phrase`The service knows no printer with this ID: choose a printer in the node.`,
  );
}
