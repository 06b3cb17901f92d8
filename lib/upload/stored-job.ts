import type { ApiClient, Limits } from '../account/api-client';
import { asPrintingError, PrintingError, withoutAddresses } from '../service/errors';
import { STORAGE, storedIds, type StoredRef } from '../service/stored-file';
import { records, text, type Json } from '../service/json-readers';
import { AGAIN, pollUntil, WORK_IN_PROGRESS } from '../time/retry';
import type { Deadline } from '../time/deadline';
import { phrase } from '../words/sentence';

/** Reads the service's present record of a stored file. */
export async function readStored(service: ApiClient, { kind, id }: StoredRef, limits: Limits): Promise<Json> {
  const { read, idParameter, inWords } = STORAGE[kind];
  const answer = await service.call(read, { ids: { [idParameter]: id }, what: inWords, ...limits });
  return records(answer.data)[0] ?? {};
}

/** Whether the service no longer has a stored job; false also where it can't be asked. Never rejects. */
export const isGone = (service: ApiClient, id: string, deadline: Deadline): Promise<boolean> =>
  readStored(service, { kind: 'job', id }, { deadline }).then(
    () => false,
    (thrown: unknown) => asPrintingError(thrown).code === 'NOT_FOUND',
  );

export const isUploaded = (stored: Json): boolean => text(stored.status)?.toLowerCase() === 'uploaded';

/** Waits until the service has accepted the bytes (interface, States). Throws UPLOAD_FAILED if it reports a failure. */
export function awaitUploaded(service: ApiClient, ref: StoredRef, { deadline }: Limits): Promise<Json> {
  return pollUntil(deadline, WORK_IN_PROGRESS, async () => {
    const stored = await readStored(service, ref, { deadline });
    if (isUploaded(stored)) return stored;
    const status = text(stored.status) ?? '';
    // Other status words are unknown: one that sounds like a failure is one, any other may still change (wire facts
    // 4.1).
    if (/fail|error|reject/i.test(status)) {
      const reason = withoutAddresses(text(stored.status_description) ?? status).slice(0, 200);
      throw new PrintingError(
        'UPLOAD_FAILED',
        phrase`The service could not take the file (${reason}): check the file and send it again.`,
        {
          ids: storedIds(ref),
        },
      );
    }
    return AGAIN;
  });
}
