import { PrintingError } from '../service/errors';
import { hostFault } from '../rules/hosts';
import { trimmed, withoutSlashes } from '../rules/text';
import { phrase, type Sentence } from '../words/sentence';

/**
 * Reads a host of the service, without a trailing slash. Tokens are sent to it, so it must be `https://…`; plain
 * `http:` is for loopback addresses only (reference 2.1). Throws NOT_CONFIGURED.
 */
export function readHost(value: unknown, name: Sentence): string {
  const fault = hostFault(value);
  if (fault === 'missing') throw new PrintingError('NOT_CONFIGURED', phrase`The account has no ${name}: fill it in.`);
  if (fault)
    throw new PrintingError(
      'NOT_CONFIGURED',
      phrase`The account's ${name} must be an address like https://host (http only for this computer itself).`,
    );
  return withoutSlashes(trimmed(value));
}
