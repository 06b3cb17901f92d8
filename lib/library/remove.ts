import type { ApiClient, Limits } from '../account/api-client';
import { asPrintingError, PrintingError } from '../service/errors';
import { STORAGE, type StoredRef } from '../service/stored-file';
import { phrase, type Sentence } from '../words/sentence';

/**
 * Deletes a stored file. The interface promises the operation but doesn't describe the call (interface, endpoint 7;
 * wire facts 4.4), so an account's `paths` can override it. Returns the answer's data, mostly none.
 */
export async function removeStored(service: ApiClient, { kind, id }: StoredRef, limits: Limits): Promise<unknown> {
  const { remove, idParameter, inWords } = STORAGE[kind];
  try {
    return (await service.call(remove, { ids: { [idParameter]: id }, what: inWords, ...limits })).data;
  } catch (thrown) {
    const error = asPrintingError(thrown);
    const failed = (sentence: Sentence) => new PrintingError(error.code, sentence, { ...error, cause: error });
    if (error.statusCode === 404)
      throw failed(
        phrase`The service finds nothing to delete: ${inWords} has already been deleted, or its ID is wrong.`,
      );
    if (error.statusCode === 405)
      throw failed(
        phrase`The service may not support deleting by this call: delete ${inWords} on its web page, or set another path for ${remove} in the account.`,
      );
    throw error;
  }
}
