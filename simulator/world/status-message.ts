import type { StatusMessage, User } from './state';

/** Creates a message about a print job; `now` in real ms. */
export const saying = (body: string, user: User | null, now: number): StatusMessage => ({
  body,
  userId: user?.userId ?? null,
  username: user?.username ?? null,
  at: now,
});
