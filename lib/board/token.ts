import { createHmac, hash, timingSafeEqual } from 'node:crypto';
import { TEXT } from '../rules/limits';

/** Cookies of a request to read. */
const MOST = 1_000;
/** Lifetime of the cookie, s: browsers keep none for longer than 400 days. */
const LIFETIME = 400 * 24 * 60 * 60;

/**
 * The token of one board, and the cookie that stands for it. The cookie is derived from both, so that it survives a
 * restart, ends when the token changes, and opens no other board.
 */
export class BoardToken {
  readonly #token: string;
  readonly #name: string;
  readonly #cookie: string;

  constructor(token: string, boardId: string) {
    this.#token = token;
    // Cookies ignore ports: another Node-RED of the same machine may have a board, too.
    this.#name = `remote-printing-board-${boardId.replace(/[^\w-]/g, '-')}`;
    this.#cookie = createHmac('sha256', token).update(`remote-printing board ${boardId}`).digest('base64url');
  }

  isRight(given: string): boolean {
    return isSame(given, this.#token);
  }

  /** Whether a request's header `Cookie` has this board's cookie. */
  isIn(header: string | undefined): boolean {
    const own = `${this.#name}=`;
    // Node.js takes no longer headers.
    const pairs = (header ?? '').slice(0, TEXT.field).split(';', MOST);
    // One of an earlier token may be left at another path.
    const given = pairs.map((pair) => pair.trim()).filter((pair) => pair.startsWith(own));
    return given.slice(0, 5).some((pair) => isSame(pair, own + this.#cookie));
  }

  /** Without a path: it is sent to the folder of the address that set it, whatever a proxy puts before that. */
  header(isSecure: boolean): string {
    const flags = ['HttpOnly', 'SameSite=Lax', `Max-Age=${LIFETIME}`, ...(isSecure ? ['Secure'] : [])];
    return [`${this.#name}=${this.#cookie}`, ...flags].join('; ');
  }
}

/** Compares digests, in the same time whatever the difference. */
const isSame = (one: string, other: string): boolean => timingSafeEqual(digest(one), digest(other));
const digest = (text: string): Buffer => hash('sha256', text, 'buffer');
