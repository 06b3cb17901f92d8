const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Whether an address (one that can be parsed) is on this very machine: the only place where plain http will do. */
export const isLoopback = (url: string): boolean => LOOPBACK.test(new URL(url).hostname);
