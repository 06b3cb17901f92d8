import { asPrintingError, PrintingError } from '../service/errors';
import type { StateStore } from '../state/store';
import { isoTime, sleep, type Clock } from '../time/clock';
import { Changes } from './changes';
import type { Credentials, SignInInfo } from './credentials';
import { belongsTo, grantKey, readToken, type Grant, type SignInSettings } from './grant';
import type { SignInState } from './sign-in-state';
import type { TokenEndpoint } from './token-endpoint';

export interface TokensOptions {
  accountId: string;
  settings: SignInSettings;
  store: StateStore;
  clock: Clock;
  endpoint: TokenEndpoint;
  warn: (sentence: string) => void;
}

/** Renew this long before the end, or a tenth of a short lifetime before. */
const EARLY = 60_000;
/** Tries of one refresh that fails for reasons that pass, and the waits between them. */
const WAITS = [1_000, 3_000];
/** After a refresh that failed so, everybody who asks within this time gets the same answer. */
const PAUSE = 5_000;
/** Answers of the token endpoint after which the refresh token is worth nothing (wire facts 3). */
const ENDS = ['invalid_grant', 'invalid_request'];

/**
 * The tokens of one signed-in account. The refresh token changes at every use (interface, Authentication 7) and a spent
 * one ends the whole sign-in, so: one refresh at a time, under the store's lock for this account, whoever else runs; and
 * a new pair is durable before it is first used.
 */
export class Tokens implements Credentials {
  readonly #options: TokensOptions;
  readonly #changes = new Changes();
  #grant: Grant | undefined;
  /** Monotonic time at which the access token in hand ends. */
  #endsAt = 0;
  #loading: Promise<void> | undefined;
  #refreshing: Promise<string> | undefined;
  #failure: { error: PrintingError; until: number } | undefined;
  /** The service refuses this client application or its scope; only other settings (so, another instance) can mend it. */
  #blocked: PrintingError | undefined;
  #loaded = false;
  #refreshes = 0;
  #failures = 0;
  /** Milliseconds from a token answer's arrival until it was on disk: the time that a crash can't be survived in. */
  #window = { last: 0, longest: 0 };

  constructor(options: TokensOptions) {
    this.#options = options;
  }

  get state(): SignInState {
    if (this.#blocked || this.#grant?.ended) return 'sign-in-needed';
    return this.#grant ? 'signed-in' : 'signed-out';
  }

  onChange(listener: () => void): () => void {
    return this.#changes.on(listener);
  }

  ready(): Promise<void> {
    return this.#load();
  }

  async bearer(): Promise<string> {
    await this.#load();
    const grant = this.#usable();
    const left = this.#endsAt - this.#options.clock.monotonic();
    if (left > Math.min(EARLY, grant.lifetime / 10)) return grant.accessToken;
    try {
      return await this.renew(grant.accessToken);
    } catch (error) {
      // Early renewal is a courtesy: while the token is good, a passing fault changes nothing.
      const still = this.#endsAt - this.#options.clock.monotonic() > 0;
      if (still && this.#grant === grant && !grant.ended && !this.#blocked) return grant.accessToken;
      throw error;
    }
  }

  async renew(refused: string): Promise<string> {
    await this.#load();
    const grant = this.#usable();
    if (grant.accessToken !== refused) return grant.accessToken;
    if (this.#failure && this.#failure.until > this.#options.clock.monotonic()) throw this.#failure.error;
    this.#refreshing ??= this.#refresh(refused).finally(() => (this.#refreshing = undefined));
    return this.#refreshing;
  }

  taken(): void {
    // A token that the service takes is what a signed-in account expects.
  }

  info(): SignInInfo {
    const holder = this.#grant?.accessToken ? readToken(this.#grant.accessToken) : null;
    const error = this.#blocked ?? this.#failure?.error;
    return {
      state: this.state,
      user: holder?.user ?? null,
      organizationId: holder?.organizationId ?? null,
      expiresAt: this.#grant && !this.#grant.ended ? isoTime(this.#grant.expiresAt) : null,
      error: this.#grant?.ended ?? error?.message ?? null,
    };
  }

  counters(): Record<string, number> {
    return {
      refreshes: this.#refreshes,
      failedRefreshes: this.#failures,
      lastSaveMilliseconds: this.#window.last,
      longestSaveMilliseconds: this.#window.longest,
    };
  }

  async signOut(): Promise<void> {
    await this.#options.store.delete(grantKey(this.#options.accountId));
    await this.reload();
  }

  async reload(): Promise<void> {
    this.#loading = undefined;
    this.#blocked = undefined;
    this.#failure = undefined;
    await this.#load();
  }

  async settled(): Promise<void> {
    await this.#refreshing?.catch(() => undefined);
  }

  /** Reads the stored grant once. Written back as it is: so it is always sealed with the secret of today. */
  #load(): Promise<void> {
    this.#loading ??= this.#options.store
      .update<Grant>(grantKey(this.#options.accountId), (grant) => grant)
      .catch(() => this.#options.store.get<Grant>(grantKey(this.#options.accountId)))
      .then((grant) => this.#take(grant));
    return this.#loading;
  }

  #take(grant: Grant | undefined): void {
    const before = this.state;
    const { clock, settings } = this.#options;
    this.#grant = grant && belongsTo(grant, settings) ? grant : undefined;
    const left = Math.min(grant?.lifetime ?? 0, (grant?.expiresAt ?? 0) - clock.now());
    this.#endsAt = clock.monotonic() + left;
    if (!this.#loaded || before !== this.state) this.#changes.tell();
    this.#loaded = true;
  }

  #usable(): Grant {
    if (this.#blocked) throw this.#blocked;
    if (!this.#grant)
      throw new PrintingError('NOT_SIGNED_IN', 'Nobody is signed in: open the account and sign in.', UNSENT);
    if (this.#grant.ended) throw new PrintingError('NOT_SIGNED_IN', this.#grant.ended, UNSENT);
    return this.#grant;
  }

  async #refresh(refused: string): Promise<string> {
    for (const wait of [...WAITS, null]) {
      try {
        return await this.#refreshOnce(refused);
      } catch (thrown) {
        const error = asPrintingError(thrown);
        this.#failures++;
        if (error.code === 'NOT_SIGNED_IN') throw error;
        const asked = error.retryAfter ?? 0;
        if (wait === null || asked > PAUSE) {
          this.#failure = { error: unsent(error), until: this.#options.clock.monotonic() + Math.max(PAUSE, asked) };
          throw this.#failure.error;
        }
        await sleep(this.#options.clock, Math.max(wait, asked));
      }
    }
    throw new Error('unreachable');
  }

  async #refreshOnce(refused: string): Promise<string> {
    const { store, accountId, endpoint, settings, clock } = this.#options;
    let renewed: { grant: Grant; at: number } | undefined;
    let refusal: PrintingError | undefined;
    try {
      const grant = await store.update<Grant>(grantKey(accountId), async (current) => {
        // Another instance that shares the store may have been faster.
        if (!current || current.ended || !belongsTo(current, settings) || current.accessToken !== refused)
          return current;
        if (!current.refreshToken)
          return { ...current, ...spent('The sign-in has run out and can’t be renewed: sign in again.') };
        try {
          renewed = { grant: await endpoint.refresh(settings, current), at: clock.monotonic() };
          return renewed.grant;
        } catch (thrown) {
          const error = asPrintingError(thrown);
          if (!isRefusal(error)) throw error;
          refusal = error;
          if (!ENDS.includes(error.serviceCode ?? '')) return current;
          return { ...current, ...spent('The service ended the sign-in: open the account and sign in again.') };
        }
      });
      if (renewed) this.#saved(renewed.at);
      this.#failure = undefined;
      if (refusal && !grant?.ended)
        this.#blocked = new PrintingError(
          'NOT_SIGNED_IN',
          `The service refused the client application (${refusal.serviceCode ?? ''}): check client id, secret and scope of the account, deploy and sign in again.`,
          { ...UNSENT, statusCode: refusal.statusCode, serviceCode: refusal.serviceCode },
        );
      this.#take(grant);
      if (this.#blocked) this.#changes.tell();
      return this.#usable().accessToken;
    } catch (error) {
      if (!renewed) throw error;
      // The old pair is spent already, so going on in memory is the best that is left.
      this.#options.warn('The renewed sign-in could not be saved; it will be lost when Node-RED ends.');
      this.#take(renewed.grant);
      return renewed.grant.accessToken;
    }
  }

  #saved(arrived: number): void {
    this.#refreshes++;
    const last = this.#options.clock.monotonic() - arrived;
    this.#window = { last, longest: Math.max(last, this.#window.longest) };
  }
}

const UNSENT = { outcome: 'not-sent' } as const;

/** What is left of a grant whose tokens are worth nothing any more. */
const spent = (reason: string) => ({ ended: reason, accessToken: '', refreshToken: null, expiresAt: 0, lifetime: 0 });

/** An answer in the token endpoint's own words, as against a fault on the way that passes. */
const isRefusal = ({ outcome, statusCode, serviceCode }: PrintingError): boolean =>
  outcome === 'refused' && serviceCode !== undefined && [400, 401, 403].includes(statusCode ?? 0);

/** The call that needed the refresh was never made. */
const unsent = (error: PrintingError): PrintingError =>
  new PrintingError(error.code, error.message, {
    cause: error.cause,
    statusCode: error.statusCode,
    serviceCode: error.serviceCode,
    retryAfter: error.retryAfter,
    outcome: 'not-sent',
  });
