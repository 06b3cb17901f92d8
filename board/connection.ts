// The stream of the board: opened while the page is visible, and again after every break.
import type { Change } from '../lib/board/shapes';
import { applyInPieces, current, set } from './state';

/** Silence after which the connection counts as broken, ms: two heartbeats and a little. */
const SILENCE = 35_000;
/** Pause before the next try, ms. */
const AGAIN = 3_000;
/** Interval of the reads of a page without a stream, ms. */
const READ_EVERY = 5_000;

let source: EventSource | null = null;
let timer: number | undefined;
let heardAt = 0;

/** Names this browser to Node-RED, which lets it have three streams. */
function browserId(): string {
  try {
    const known = localStorage.getItem('remote-printing-board') ?? randomId();
    localStorage.setItem('remote-printing-board', known);
    return known;
  } catch {
    return '';
  }
}

/** An unguessable word; `randomUUID` needs https. */
export function randomId(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(18));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}

export function connect(): void {
  document.addEventListener('visibilitychange', () => (document.hidden ? close() : open()));
  window.addEventListener('pageshow', () => {
    if (!document.hidden && !source) open();
  });
  window.setInterval(() => {
    // A clock that was set back would hide a silence for hours.
    if (source && Math.abs(Date.now() - heardAt) > SILENCE) retry();
  }, 5_000);
  if (!document.hidden) open();
}

function close(): void {
  window.clearTimeout(timer);
  source?.close();
  source = null;
}

function open(): void {
  close();
  heardAt = Date.now();
  const opened = new EventSource(`events?browser=${browserId()}`);
  source = opened;
  opened.onmessage = ({ data }: MessageEvent<string>) => {
    heard();
    receive(data);
  };
  opened.onerror = () => {
    if (source !== opened) return;
    // While it is connecting again, the browser tries by itself.
    if (opened.readyState === EventSource.CLOSED) retry();
    else offline();
  };
}

function retry(): void {
  close();
  void read().then((isRead) => {
    if (source || document.hidden) return;
    // Other tabs have the streams of this browser: reads the board in their place. A break ends with a new stream.
    timer = window.setTimeout(open, isRead ? READ_EVERY : AGAIN);
  });
}

/** Reads the whole board once; false if that failed. */
async function read(): Promise<boolean> {
  try {
    const answer = await fetch('board.json', { cache: 'no-store' });
    if (!answer.ok) {
      offline(answer.status === 401 ? 'token' : null);
      return false;
    }
    const text = await answer.text();
    heard();
    receive(text);
    return true;
  } catch {
    offline();
    return false;
  }
}

/** Reads an answer of Node-RED. Rejects if there is none, or one that says why there is none. */
export async function readJson<T>(address: string, signal?: AbortSignal): Promise<T> {
  const answer = await fetch(address, signal ? { signal } : {});
  if (!answer.ok) throw new Error(`${answer.status}`);
  return (await answer.json()) as T;
}

function heard(): void {
  heardAt = Date.now();
  if (!current().isLive) set({ isLive: true, since: heardAt, trouble: null });
}

function offline(trouble: 'token' | null = null): void {
  const { isLive } = current();
  if (isLive || trouble !== current().trouble) set({ isLive: false, trouble, ...(isLive && { since: Date.now() }) });
}

function receive(text: string): void {
  const change = JSON.parse(text) as Change;
  const version = change.values?.facts?.version;
  if (version !== undefined && version !== document.body.dataset.version && isFirstReload(version)) {
    location.reload();
    return;
  }
  applyInPieces(change);
}

/** A page that gets an old copy again must not reload for ever. */
function isFirstReload(version: string): boolean {
  try {
    if (sessionStorage.getItem('version') === version) return false;
    sessionStorage.setItem('version', version);
    return true;
  } catch {
    return false;
  }
}
