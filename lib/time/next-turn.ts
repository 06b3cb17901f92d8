/** Resolves in the next turn of the event loop: what waits there, timers and sockets, runs before. */
export const nextTurn = (): Promise<void> => new Promise((resolve) => setImmediate(resolve));
