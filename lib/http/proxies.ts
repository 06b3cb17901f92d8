export interface Proxies {
  httpProxy?: string;
  httpsProxy?: string;
  noProxy: string;
}

/** Always reached directly: a proxy can't reach what listens on this machine only, such as the simulator. */
const OWN = ['localhost', '127.0.0.1', '::1'];

/**
 * The proxies that an environment names (`http_proxy`, `https_proxy`, `no_proxy`, in either case), or null.
 * `proxy:3128` is as good as `http://proxy:3128`; what is no address at all counts as none.
 */
export function proxiesOf(env: NodeJS.ProcessEnv): Proxies | null {
  const given = (name: string) => env[name] || env[name.toUpperCase()];
  const httpProxy = addressOf(given('http_proxy'));
  const httpsProxy = addressOf(given('https_proxy')) ?? httpProxy;
  if (!httpProxy && !httpsProxy) return null;
  const noProxy = [given('no_proxy'), ...OWN].filter(Boolean).join(',');
  return { ...(httpProxy && { httpProxy }), ...(httpsProxy && { httpsProxy }), noProxy };
}

function addressOf(given: string | undefined): string | undefined {
  const words = given?.trim();
  if (!words) return undefined;
  const address = /^[a-z][a-z\d+.-]*:\/\//i.test(words) ? words : `http://${words}`;
  const url = URL.canParse(address) ? new URL(address) : null;
  if (!url || !/^https?:$/.test(url.protocol)) return undefined;
  const user = url.username && `${url.username}${url.password && `:${url.password}`}@`;
  return `${url.protocol}//${user}${url.host}`;
}
