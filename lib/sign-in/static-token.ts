import { PrintingError } from '../service/errors';
import { Changes } from './changes';
import type { Credentials, SignInInfo } from './credentials';
import { readToken } from './grant';
import type { SignInState } from './sign-in-state';

/** An API token made by hand in the service's web interface (wire facts 3.1): used as it is, never renewed. */
export class StaticToken implements Credentials {
  readonly #token: string;
  readonly #changes = new Changes();
  #state: SignInState;

  constructor(token: string) {
    this.#token = token;
    this.#state = token ? 'unchecked' : 'signed-out';
  }

  get state(): SignInState {
    return this.#state;
  }

  onChange(listener: () => void): () => void {
    return this.#changes.on(listener);
  }

  ready(): Promise<void> {
    return Promise.resolve();
  }

  bearer(): Promise<string> {
    return this.#token && this.#state !== 'sign-in-needed'
      ? Promise.resolve(this.#token)
      : Promise.reject(this.#refused());
  }

  renew(): Promise<string> {
    this.#become('sign-in-needed');
    return Promise.reject(this.#refused());
  }

  taken(): void {
    this.#become('signed-in');
  }

  info(): SignInInfo {
    const { user, organizationId } = readToken(this.#token);
    const error = this.#state === 'sign-in-needed' ? this.#refused().message : null;
    return { state: this.#state, user, organizationId, expiresAt: null, error };
  }

  counters(): Record<string, number> {
    return {};
  }

  signOut(): Promise<void> {
    return Promise.resolve();
  }

  /** Gives a refused token another chance. */
  reload(): Promise<void> {
    if (this.#token) this.#become('unchecked');
    return Promise.resolve();
  }

  settled(): Promise<void> {
    return Promise.resolve();
  }

  #become(state: SignInState): void {
    if (this.#state === state) return;
    this.#state = state;
    this.#changes.tell();
  }

  #refused(): PrintingError {
    return this.#token
      ? new PrintingError(
          'NOT_SIGNED_IN',
          'The service refused the API token: make a new one and put it into the account.',
          {
            statusCode: 401,
            outcome: 'refused',
          },
        )
      : new PrintingError('NOT_SIGNED_IN', 'The account has no API token: open the account and put one in.', {
          outcome: 'not-sent',
        });
  }
}
