import { webAddress } from '../lib/rules/text';
import { reason, type ShownState } from './requests';
import { text } from './texts';

const ASK_EVERY = 1500;

interface SignInElements {
  /** Requests the address of the sign-in page. */
  begin: () => Promise<{ authorizeUrl: string }>;
  /** Requests the account's state, which is then passed to `follow`. */
  ask: () => Promise<void>;
  showMessage: (sentence: string) => void;
  /** Link to the sign-in page, in case no window opens. */
  link: JQuery;
  row: JQuery;
}

/** A sign-in from the account's dialog, from the click to its success or failure. */
export class SignIn {
  readonly #parts: SignInElements;
  #timer: number | undefined;
  #page: Window | null = null;
  /** Message for the success; undefined while no sign-in is pending. */
  #after: string | undefined;
  /** Error of the account before the sign-in. */
  #errorBefore: string | null | undefined;

  constructor(parts: SignInElements) {
    this.#parts = parts;
    parts.row.hide();
  }

  async begin(after: string): Promise<void> {
    const { begin, showMessage, link, row } = this.#parts;
    this.#page?.close();
    // Opens the window during the click; browsers would block it later.
    const page = window.open('about:blank', '_blank', 'width=640,height=800');
    if (page) page.opener = null;
    this.end();
    showMessage(text('account.signingIn'));
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
      showMessage(reason(failure));
    }
  }

  #wait(time: number): void {
    const asked = () => this.#parts.ask().finally(() => this.#after !== undefined && this.#wait(ASK_EVERY));
    this.#timer = window.setTimeout(() => void asked(), time);
  }

  /** Compares two states of the account to detect the end of the sign-in. */
  follow(before: ShownState | undefined, now: ShownState | undefined): void {
    if (this.#after === undefined || !now) return;
    // While signed in, only new tokens show that another sign-in has succeeded.
    const isNew = before?.state !== 'signed-in' || before.expiresAt !== now.expiresAt;
    if (now.state === 'signed-in' && isNew) return this.#ended(this.#after);
    if (this.#errorBefore === undefined || now.error === null) this.#errorBefore = now.error;
    if (now.error !== null && now.error !== this.#errorBefore) return this.#ended('');
    // A closed window can't be told from one that its page has isolated, and either sign-in may still succeed.
    if (!this.#page?.closed) return;
    this.#page = null;
    this.#parts.showMessage(text('account.windowClosed'));
  }

  #ended(sentence: string): void {
    this.end();
    this.#parts.showMessage(sentence);
  }

  /** Ends the wait for the sign-in. */
  end(): void {
    clearTimeout(this.#timer);
    this.#after = undefined;
    this.#errorBefore = undefined;
    this.#page = null;
    this.#parts.row.hide();
  }
}
