import { Refusal } from '../http/refusals';
import type { WorldEvent } from '../http/faults';
import type { WorldActions } from './world-actions';

/**
 * Returns a function that makes a fault's event happen in the world. Its cluster and job are those of the request's
 * path, unless the event names others. An impossible event, such as the end of a print where none runs, does nothing.
 */
export function faultAction(actions: WorldActions): (event: WorldEvent, params: Record<string, string>) => void {
  return ({ action, ...body }, { cluster_id: cluster, job_id: stored, cluster_job_id: print }) => {
    const job = action === 'remove-stored-job' ? stored : print;
    try {
      actions[action]!({
        ...(cluster === undefined ? {} : { cluster }),
        ...(job === undefined ? {} : { job }),
        ...body,
      });
    } catch (error) {
      if (!(error instanceof Refusal) || (error.status !== 404 && error.status !== 409)) throw error;
    }
  };
}
