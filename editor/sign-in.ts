import { webAddress } from '../lib/rules/text';
import { reason, type AccountState } from './requests';
import { text } from './texts';

const ASK_EVERY = 1500;

interface SignInElements {
  /** Asks the runtime for the page to sign in on. */
  begin: () => Promise<{ authorizeUrl: string }>;
  /** Asks for the account's state, and has it handed to `follow`. */
  ask: () => Promise<void>;
  say: (sentence: string) => void;
  /** Leads to the page where no window opened. */
  link: JQuery;
  row: JQuery;
}

/** The sign-in that is begun in the account's dialog, from the click to its end, however it ends. */
export class SignIn {
  readonly #parts: SignInElements;
  #timer: number | undefined;
  #page: Window | null = null;
  /** What to say when somebody is signed in; undefined while nothing is awaited. */
  #after: string | undefined;
  /** What was wrong with the account before. */
  #errorBefore: string | null | undefined;

  constructor(parts: SignInElements) {
    this.#parts = parts;
    parts.row.hide();
  }

  async begin(after: string): Promise<void> {
    const { begin, say, link, row } = this.#parts;
    this.#page?.close();
    // Opened within the click, for later the browser would block it.
    const page = window.open('about:blank', '_blank', 'width=640,height=800');
    if (page) page.opener = null;
    this.end();
    say(text('account.signingIn'));
    try {
      const { authorizeUrl } = await begin();
      if (!webAddress(authorizeUrl)) throw new Error(text('invalid.url'));
      link.attr('href', authorizeUrl);
      row.show();
      this.#page = page;
      this.#after = after;
      page?.location.replace(authorizeUrl);
      this.#wait(0);
    } catch (failure) {
      page?.close();
      say(reason(failure));
    }
  }

  #wait(time: number): void {
    const asked = () => this.#parts.ask().finally(() => this.#after !== undefined && this.#wait(ASK_EVERY));
    this.#timer = window.setTimeout(() => void asked(), time);
  }

  /** Takes note of what the account's state was and is. */
  follow(before: AccountState | undefined, now: AccountState | undefined): void {
    if (this.#after === undefined || !now) return;
    // A sign-in while signed in shows by its new tokens alone.
    const isNew = before?.state !== 'signed-in' || before.expiresAt !== now.expiresAt;
    if (now.state === 'signed-in' && isNew) return this.#ended(this.#after);
    if (this.#errorBefore === undefined || now.error === null) this.#errorBefore = now.error;
    if (now.error !== null && now.error !== this.#errorBefore) return this.#ended('');
    // Nobody can tell a window that was closed from one that its page has cut off from here: both may still succeed.
    if (!this.#page?.closed) return;
    this.#page = null;
    this.#parts.say(text('account.windowClosed'));
  }

  #ended(sentence: string): void {
    this.end();
    this.#parts.say(sentence);
  }

  /** Waits no longer. */
  end(): void {
    clearTimeout(this.#timer);
    this.#after = undefined;
    this.#errorBefore = undefined;
    this.#page = null;
    this.#parts.row.hide();
  }
}
