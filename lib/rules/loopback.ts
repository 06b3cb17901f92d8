const LOOPBACK = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

/** Whether a valid URL points to this computer, the only destination for plain http. */
export const isLoopback = (url: string): boolean => LOOPBACK.test(new URL(url).hostname);
