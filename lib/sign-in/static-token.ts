import { PrintingError } from '../service/errors';
import { Changes } from './changes';
import type { Credentials, Renewal, SignInInfo } from './credentials';
import { readToken, type TokenHolder } from './grant';
import type { SignInState } from './sign-in-state';
import { phrase } from '../words/sentence';

/**
 * An API token created by hand in the service's web interface (wire facts 3.1). It is never renewed. After a refusal
 * the next call tries it again, because the service may have been wrong.
 */
export class StaticToken implements Credentials {
  readonly #token: string;
  readonly #holder: TokenHolder;
  readonly #changes = new Changes();
  #state: SignInState;

  constructor(token: string) {
    this.#token = token;
    this.#holder = readToken(token);
    this.#state = token ? 'unchecked' : 'signed-out';
  }

  get state(): SignInState {
    return this.#state;
  }

  get usable(): boolean {
    return this.#token !== '';
  }

  onChange(listener: () => void): () => void {
    return this.#changes.on(listener);
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  bearer(): Promise<string> {
    return this.#token ? Promise.resolve(this.#token) : Promise.reject(this.#refused());
  }

  renew(_refused: string, { host }: Renewal): Promise<string> {
    // The account host may not accept static tokens at all; only the API host's refusal counts.
    if (host === 'api') this.#setState('sign-in-needed');
    return Promise.reject(this.#refused());
  }

  accepted(): void {
    this.#setState('signed-in');
  }

  info(): SignInInfo {
    const { user, organizationId } = this.#holder;
    const error = this.#state === 'sign-in-needed' ? this.#refused().sentence : null;
    return { state: this.#state, user, organizationId, expiresAt: null, error };
  }

  counters(): Record<string, number> {
    return {};
  }

  signOut(): Promise<void> {
    return Promise.resolve();
  }

  reload(): Promise<void> {
    return Promise.resolve();
  }

  close(): Promise<void> {
    return Promise.resolve();
  }

  #setState(state: SignInState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#changes.notify();
  }

  #refused(): PrintingError {
    return this.#token
      ? new PrintingError(
          'NOT_SIGNED_IN',
          phrase`The service refused the API token: create a new one and enter it in the account.`,
          { statusCode: 401, outcome: 'refused' },
        )
      : new PrintingError('NOT_SIGNED_IN', phrase`The account has no API token: enter one.`, {
          outcome: 'not-sent',
        });
  }
}
