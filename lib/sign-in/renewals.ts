import { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';
import { serviceOf, type SignInSettings } from './grant';

/**
 * The renewals under way in this process. They outlive the deployed instance that began them (ADR 13), so a sign-out or a
 * new sign-in, which makes them pointless, must be able to reach and end them: otherwise it would wait for their lock.
 */
export class Renewals {
  readonly #underWay = new Set<{ accountId: string; service: string; end: AbortController }>();

  /** A renewal that begins now. Call `over` at its end. */
  begin(accountId: string, settings: SignInSettings): { signal: AbortSignal; over: () => void } {
    const renewal = { accountId, service: serviceOf(settings), end: new AbortController() };
    this.#underWay.add(renewal);
    return { signal: renewal.end.signal, over: () => void this.#underWay.delete(renewal) };
  }

  /** Ends the renewals of an account; those at one service only, where `settings` name one. */
  supersede(accountId: string, settings?: SignInSettings): void {
    for (const { end, ...renewal } of [...this.#underWay])
      if (renewal.accountId === accountId && (!settings || renewal.service === serviceOf(settings)))
        end.abort(superseded());
  }
}

const superseded = () =>
  new PrintingError('NOT_SIGNED_IN', phrase`The sign-in was ended or replaced in the meantime: try again.`, {
    outcome: 'unknown',
  });
