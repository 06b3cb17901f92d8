/** Resolves in the next turn of the event loop, after pending timers and sockets. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
