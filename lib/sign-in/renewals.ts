import { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';
import { serviceOf, type SignInSettings } from './grant';

/**
 * Renewals under way in this process. They outlive the deployed instance that began them (ADR 13). A sign-out or a new
 * sign-in makes them pointless and must be able to cancel them; otherwise it would wait for their lock.
 */
export class Renewals {
  readonly #underWay = new Set<{ accountId: string; service: string; controller: AbortController }>();

  /** Registers a renewal that begins now. Call `end` when it has ended. */
  begin(accountId: string, settings: SignInSettings): { signal: AbortSignal; end: () => void } {
    const renewal = { accountId, service: serviceOf(settings), controller: new AbortController() };
    this.#underWay.add(renewal);
    return { signal: renewal.controller.signal, end: () => void this.#underWay.delete(renewal) };
  }

  /** Cancels the renewals of an account; with `settings`, only those at that service. */
  supersede(accountId: string, settings?: SignInSettings): void {
    for (const { controller, ...renewal } of [...this.#underWay])
      if (renewal.accountId === accountId && (!settings || renewal.service === serviceOf(settings)))
        controller.abort(superseded());
  }
}

const superseded = () =>
  new PrintingError('NOT_SIGNED_IN', phrase`The sign-in was ended or replaced in the meantime: try again.`, {
    outcome: 'unknown',
  });
