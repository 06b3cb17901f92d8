import { asPrintingError } from '../service/errors';
import type { PrinterFilter } from '../service/printer-filter';
import type { Deadline } from '../time/deadline';
import type { ClusterPrint, ClusterPrintResult } from './cluster-print';
import type { IdlePrinters } from './idle-printers';
import type { Ledger } from './ledger';
import type { PrintRequest } from './print-request';
import type { SharedUpload } from './shared-upload';

/**
 * Prints a request on an idle printer. A print key keeps its printer: the choice is written under the key's lock before
 * the dispatch, and as long as the chosen cluster has an entry of the key, a repeat goes there and has the first result.
 * Without an entry nothing was printed, so a repeat chooses again.
 */
export class ChosenPrint {
  constructor(
    private readonly clusterPrint: ClusterPrint,
    private readonly idlePrinters: IdlePrinters,
  ) {}

  /** Throws NOT_ACCEPTED if no printer suits, and the errors of `ClusterPrint.run`. */
  run(
    request: PrintRequest,
    filter: PrinterFilter,
    upload: SharedUpload,
    lasting: Ledger,
  ): Promise<ClusterPrintResult> {
    const { printKey, dryRun, deadline } = request;
    const ledger = lasting.within(deadline);
    const work = async (held: Ledger, limit: Deadline) => {
      const limited = { ...request, deadline: limit };
      const print = (clusterId: string) => this.clusterPrint.run(limited, clusterId, upload, held);
      const earlier = printKey ? await printed(held, printKey) : undefined;
      if (earlier !== undefined) return print(earlier);
      const clusterId = await this.idlePrinters.take(filter, limit);
      let isSent = false;
      try {
        if (printKey && !dryRun) await held.recordChoice(printKey, clusterId);
        const done = await print(clusterId);
        isSent = done.result.printed && !done.result.duplicate;
        return done;
      } catch (thrown) {
        isSent = asPrintingError(thrown).code === 'PRINT_OUTCOME_UNKNOWN';
        throw thrown;
      } finally {
        this.idlePrinters.release(clusterId, isSent);
      }
    };
    return printKey && !dryRun ? ledger.holdChoice(printKey, work, deadline) : work(ledger, deadline);
  }
}

/** The cluster that has printed a key, or may have; undefined if nothing was printed. */
async function printed(ledger: Ledger, printKey: string): Promise<string | undefined> {
  const clusterId = await ledger.choice(printKey);
  return clusterId !== undefined && (await ledger.find({ clusterId, printKey })) ? clusterId : undefined;
}
