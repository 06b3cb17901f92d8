import { type Handler, type Origin, startListener } from '../http/listener';

/** The four addresses of a simulator, in the order of their ports. */
const NAMES = ['control', 'auth', 'api', 'storage'] as const;
type Name = (typeof NAMES)[number];

/**
 * Starts a listener for each address, from `port` on; 0: on any free ports. Fills in `urls`, which the handlers read.
 * Starts none if one can't be started.
 */
export async function startOrigins(
  { host, port }: { host: string; port: number },
  handlers: Record<Name, Handler>,
  urls: Record<Name, string>,
): Promise<{ stop: () => Promise<void> }> {
  const origins: Origin[] = [];
  const stop = async (): Promise<void> => {
    await Promise.all(origins.map((origin) => origin.close()));
  };
  try {
    for (const [at, name] of NAMES.entries()) {
      const origin = await startListener({ host, port: port === 0 ? 0 : port + at }, handlers[name]);
      origins.push(origin);
      urls[name] = origin.url;
    }
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop };
}
