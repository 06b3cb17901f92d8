import { retry } from '../http/retry';
import { asPrintingError, PrintingError, withOutcome } from '../service/errors';
import type { Key, Lock, StateStore } from '../state/store';
import { waitBefore } from '../time/backoff';
import { isoTime, type Clock } from '../time/clock';
import { Deadline } from '../time/deadline';
import { Changes } from './changes';
import type { Credentials, Renewal, SignInInfo } from './credentials';
import {
  grantFor,
  grantKey,
  holderOf,
  whyEnded,
  withGrant,
  type Grant,
  type Grants,
  type SignInSettings,
} from './grant';
import type { SignInState } from './sign-in-state';
import type { TokenEndpoint } from './token-endpoint';
import { say, type Sentence } from '../words/say';

export interface TokensOptions {
  accountId: string;
  settings: SignInSettings;
  store: StateStore;
  clock: Clock;
  endpoint: TokenEndpoint;
  warn: (sentence: Sentence) => void;
}

/** Renew this long before the end, or a tenth of a short lifetime before. */
const EARLY = 60_000;
/** One renewal with its repeats, ms. */
const LONGEST_REFRESH = 60_000;
/** Until the answer is written, where the store just has gone away, ms. */
const LONGEST_SAVE = 30_000;
const REPEATS = { repeats: 2, first: 1_000, longest: 3_000, factor: 3 };
/** After a refresh that failed in passing, everybody who asks within this time gets the same answer. */
const PAUSE = 5_000;
/** A token that was renewed because of a refusal, and is refused itself, is not renewed again before, ms. */
const DISTRUST = { first: 30_000, longest: 15 * 60_000 };
/** Between readings of a store that can't be read, ms. */
const REREAD = { first: 1_000, longest: 30_000 };
/** Answers of the token endpoint after which the refresh token is worth nothing (wire facts 3). */
const ENDS = ['invalid_grant', 'invalid_request'];

/**
 * The tokens of one signed-in account. The refresh token changes at every use (interface, Authentication 7) and a spent
 * one ends the whole sign-in, so: one refresh at a time, under the store's lock for this account, whoever else runs; none
 * while the store can't be written; and a new pair is durable before it is first used.
 */
export class Tokens implements Credentials {
  readonly #options: TokensOptions;
  readonly #changes = new Changes();
  readonly #closing = new AbortController();
  #grant: Grant | undefined;
  /** Monotonic time at which the access token in hand ends. */
  #endsAt = 0;
  #loading: Promise<void> | undefined;
  #loaded = false;
  /** Tries of reading a store that could not be read, and the next one. */
  #rereads = 0;
  #disarm: (() => void) | undefined;
  #refreshing: Promise<string> | undefined;
  #failure: { error: PrintingError; until: number } | undefined;
  /** The token in hand came from a refusal, and the service has not taken it yet. */
  #unproven = false;
  /** Renewals in a row that a refusal of such a token asked for. */
  #distrusted = 0;
  /** The service refuses this client application or its scope; only other settings (so, another instance) can mend it. */
  #blocked: PrintingError | undefined;
  #refreshes = 0;
  #failures = 0;
  /** Milliseconds from a token answer's arrival until it was on disk: the time that a crash can't be survived in. */
  #window = { last: 0, longest: 0 };

  readonly #endListening: () => void;

  constructor(options: TokensOptions) {
    this.#options = options;
    const key = JSON.stringify(grantKey(options.accountId));
    const heard = (changed: Key | null) => {
      if (changed === null || JSON.stringify(changed) === key) void this.#catchUp();
    };
    this.#endListening = options.store.onChange?.(heard) ?? (() => undefined);
  }

  get state(): SignInState {
    if (this.#blocked || this.#grant?.ended) return 'sign-in-needed';
    return this.#grant ? 'signed-in' : 'signed-out';
  }

  get usable(): boolean {
    return this.state === 'signed-in';
  }

  onChange(listener: () => void): () => void {
    return this.#changes.on(listener);
  }

  ready(): Promise<void> {
    return this.#load();
  }

  async bearer(deadline: Deadline): Promise<string> {
    await deadline.wait(this.#load());
    const grant = this.#usable();
    const left = this.#endsAt - this.#options.clock.monotonic();
    if (left > Math.min(EARLY, grant.lifetime / 10)) return grant.accessToken;
    try {
      return await this.#renew(grant.accessToken, deadline);
    } catch (error) {
      // Early renewal is a courtesy: while the token is good, a passing fault changes nothing.
      const still = this.#endsAt - this.#options.clock.monotonic() > 0;
      if (still && this.#grant === grant && !grant.ended && !this.#blocked && !deadline.aborted)
        return grant.accessToken;
      throw error;
    }
  }

  async renew(refused: string, { deadline }: Renewal): Promise<string> {
    await deadline.wait(this.#load());
    const grant = this.#usable();
    if (grant.accessToken !== refused) return grant.accessToken;
    if (this.#unproven) {
      this.#unproven = false;
      this.#fail(refusedAnew(), waitBefore(this.#distrusted++, DISTRUST));
    }
    const token = await this.#renew(refused, deadline);
    this.#unproven = true;
    return token;
  }

  taken(bearer: string): void {
    if (bearer !== this.#grant?.accessToken) return;
    this.#unproven = false;
    this.#distrusted = 0;
    if (this.#failure?.error.code === 'NOT_SIGNED_IN') this.#failure = undefined;
  }

  info(): SignInInfo {
    const holder = this.#grant && holderOf(this.#grant);
    const error = this.#blocked ?? this.#failure?.error;
    return {
      state: this.state,
      user: holder?.user ?? null,
      organizationId: holder?.organizationId ?? null,
      expiresAt: this.#grant && !this.#grant.ended ? isoTime(this.#grant.expiresAt) : null,
      error: (this.#grant && whyEnded(this.#grant)) ?? error?.sentence ?? null,
    };
  }

  counters(): Record<string, number> {
    return {
      refreshes: this.#refreshes,
      refreshesInAll: this.#grant?.refreshes ?? 0,
      failedRefreshes: this.#failures,
      lastSaveMilliseconds: this.#window.last,
      longestSaveMilliseconds: this.#window.longest,
    };
  }

  async signOut(): Promise<void> {
    const { store, accountId, settings } = this.#options;
    await store.update<Grants>(grantKey(accountId), (stored) => withGrant(stored, settings, undefined), { tell: true });
    await this.reload();
  }

  async reload(): Promise<void> {
    this.#loading = undefined;
    this.#blocked = undefined;
    this.#failure = undefined;
    this.#unproven = false;
    this.#distrusted = 0;
    await this.#load();
  }

  async close(): Promise<void> {
    this.#closing.abort();
    this.#disarm?.();
    this.#endListening();
    await this.#refreshing?.catch(() => undefined);
  }

  /** Reads the stored grant once; where it can't be read now, again and again until it can. */
  #load(): Promise<void> {
    this.#loading ??= this.#read().then(
      (grant) => {
        this.#rereads = 0;
        if (this.#failure?.error.code === 'FILE_NOT_READABLE') this.#failure = undefined;
        this.#take(grant);
      },
      (thrown: unknown) => {
        this.#loading = undefined;
        this.#readLater();
        const error = asPrintingError(thrown);
        // For who looks at the account meanwhile; whoever asks for a bearer reads again.
        this.#failure = { error, until: 0 };
        throw error;
      },
    );
    return this.#loading;
  }

  /** Written back as it is: so it is always sealed with the secret of today. That this can't be done now does no harm. */
  async #read(): Promise<Grant | undefined> {
    const { store, accountId, settings } = this.#options;
    const key = grantKey(accountId);
    const stored = await store
      .update<Grants>(key, (grants) => grants && { ...grants })
      .catch(() => store.get<Grants>(key));
    return grantFor(stored, settings);
  }

  /** Another runtime has renewed the sign-in, ended it, or made another. Never rejects: who needs a token reads again. */
  async #catchUp(): Promise<void> {
    const { store, accountId, settings } = this.#options;
    try {
      await this.#load();
      const grant = grantFor(await store.get<Grants>(grantKey(accountId)), settings);
      // A renewal of our own reads what is there under the lock.
      if (this.#refreshing || this.#closing.signal.aborted || grant?.accessToken === this.#grant?.accessToken) return;
      this.#blocked = this.#failure = undefined;
      this.#unproven = false;
      this.#distrusted = 0;
      this.#take(grant);
    } catch {
      // It is read again by then.
    }
  }

  #readLater(): void {
    if (this.#closing.signal.aborted) return;
    this.#disarm?.();
    const wait = waitBefore(this.#rereads++, REREAD);
    // A failure is told by the next reading, or by who asks for a bearer.
    this.#disarm = this.#options.clock.after(wait, () => void this.#load().catch(() => undefined));
  }

  #take(grant: Grant | undefined): void {
    const before = this.state;
    const { clock } = this.#options;
    // A refresh goes on with the sign-in that was there; only another one is news.
    const isNew =
      grant?.redirectUri !== this.#grant?.redirectUri || (grant?.signedInAt ?? 0) !== (this.#grant?.signedInAt ?? 0);
    this.#grant = grant;
    const left = Math.min(grant?.lifetime ?? 0, (grant?.expiresAt ?? 0) - clock.now());
    this.#endsAt = clock.monotonic() + left;
    const changed = !this.#loaded || before !== this.state || isNew;
    this.#loaded = true;
    if (changed) this.#changes.notify();
  }

  #usable(): Grant {
    if (this.#blocked) throw this.#blocked;
    if (!this.#grant)
      throw new PrintingError('NOT_SIGNED_IN', say`Nobody is signed in: open the account and sign in.`, NOT_SENT);
    const ended = whyEnded(this.#grant);
    if (ended) throw new PrintingError('NOT_SIGNED_IN', ended, NOT_SENT);
    return this.#grant;
  }

  /** Joins the renewal under way, or begins one: it is everybody's, so no single deadline ends it. */
  async #renew(refused: string, deadline: Deadline): Promise<string> {
    if (this.#failure && this.#failure.until > this.#options.clock.monotonic()) throw this.#failure.error;
    this.#refreshing ??= this.#refresh(refused).finally(() => (this.#refreshing = undefined));
    return deadline.wait(this.#refreshing);
  }

  async #refresh(refused: string): Promise<string> {
    const limit = new Deadline(this.#options.clock, { ms: LONGEST_REFRESH, cure: say`try again later` });
    // Whatever is not the endpoint's own word may pass, a proxy's page too; a fault of our own code doesn't.
    const again = (error: PrintingError) =>
      error.code !== 'NOT_SIGNED_IN' &&
      error.outcome !== undefined &&
      !isRefusal(error) &&
      !this.#closing.signal.aborted &&
      (error.retryAfter ?? 0) <= PAUSE;
    try {
      return await retry(limit, REPEATS, () => this.#refreshOnce(refused, limit), { passes: again });
    } catch (thrown) {
      const error = asPrintingError(thrown);
      if (error.code !== 'NOT_SIGNED_IN') this.#fail(error, Math.max(PAUSE, error.retryAfter ?? 0));
      throw withOutcome(error, 'not-sent');
    } finally {
      limit.end();
    }
  }

  /** The call that needed the renewal was never made. */
  #fail(error: PrintingError, pause: number): void {
    const until = this.#options.clock.monotonic() + pause;
    this.#failure = { error: withOutcome(error, 'not-sent'), until };
  }

  async #refreshOnce(refused: string, deadline: Deadline): Promise<string> {
    const { store, accountId, endpoint, settings, clock } = this.#options;
    let renewed: { grant: Grant; at: number } | undefined;
    let refusal: PrintingError | undefined;
    const now = { ended: false };
    const refresh = async (stored: Grants | undefined, lock: Lock): Promise<Grants | undefined> => {
      const current = grantFor(stored, settings);
      // Another instance that shares the store may have been faster.
      if (!current || current.ended || current.accessToken !== refused) return stored;
      const end = (reason: Sentence) => {
        now.ended = true;
        return withGrant(stored, settings, { ...current, ...spent(reason) });
      };
      if (!current.refreshToken) return end(say`The sign-in has expired and can’t be renewed: sign in again.`);
      await this.#checkWritable(deadline);
      const fence = await lock.secure(deadline.remaining() + LONGEST_SAVE);
      try {
        const grant = await endpoint.refresh(settings, current, deadline, fence);
        renewed = { grant: { ...grant, refreshes: (current.refreshes ?? 0) + 1 }, at: clock.monotonic() };
        return withGrant(stored, settings, renewed.grant);
      } catch (thrown) {
        const error = asPrintingError(thrown);
        if (!isRefusal(error)) throw error;
        refusal = error;
        if (!ENDS.includes(error.serviceCode ?? '')) return stored;
        return end(say`The service ended the sign-in: open the account and sign in again.`);
      }
    };
    try {
      const stored = await store.update<Grants>(grantKey(accountId), refresh, { insist: true, tell: true, deadline });
      if (renewed) this.#saved(renewed.at);
      this.#failure = undefined;
      if (refusal && !now.ended) this.#block(refusal);
      this.#take(grantFor(stored, settings));
      if (this.#blocked) this.#changes.notify();
      return this.#usable().accessToken;
    } catch (error) {
      this.#failures++;
      if (!renewed) throw error;
      // The old pair is spent already, so going on in memory is the best that is left; the store writes it when it can.
      this.#options.warn(say`The renewed sign-in can’t be saved yet; it would be lost if Node-RED ended now.`);
      this.#take(renewed.grant);
      return renewed.grant.accessToken;
    }
  }

  /** On a full disk the new pair would have nowhere to go: then the old one must not be spent. */
  async #checkWritable(deadline: Deadline): Promise<void> {
    const { store, accountId, clock } = this.#options;
    const key = ['refresh', accountId] as const;
    await store.put(key, { begunAt: isoTime(clock.now()) }, { deadline });
    // What can't be removed is in nobody's way.
    await store.delete(key).catch(() => undefined);
  }

  #block(refusal: PrintingError): void {
    this.#blocked = new PrintingError(
      'NOT_SIGNED_IN',
      say`The service refused the client application (${refusal.serviceCode ?? ''}): check the client ID, secret and scopes of the account, deploy and sign in again.`,
      { ...NOT_SENT, statusCode: refusal.statusCode, serviceCode: refusal.serviceCode },
    );
  }

  #saved(arrived: number): void {
    this.#refreshes++;
    const last = this.#options.clock.monotonic() - arrived;
    this.#window = { last, longest: Math.max(last, this.#window.longest) };
  }
}

const NOT_SENT = { outcome: 'not-sent' } as const;

/** What is left of a grant whose tokens are worth nothing any more. */
const spent = (reason: Sentence) => ({
  ended: reason.pattern,
  accessToken: '',
  refreshToken: null,
  expiresAt: 0,
  lifetime: 0,
});

/** An answer in the token endpoint's own words, as against a fault on the way that passes. */
const isRefusal = ({ outcome, statusCode, serviceCode }: PrintingError): boolean =>
  outcome === 'refused' && serviceCode !== undefined && [400, 401, 403].includes(statusCode ?? 0);

const refusedAnew = (): PrintingError =>
  new PrintingError(
    'NOT_SIGNED_IN',
    say`The service refuses a token that it has just issued: try again later, and sign in again if that continues.`,
    { ...NOT_SENT, statusCode: 401 },
  );
