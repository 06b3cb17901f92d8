import { TEXT } from '../rules/limits';

export interface Proxies {
  httpProxy?: string;
  httpsProxy?: string;
  noProxy: string;
}

/**
 * Hosts always reached directly: a proxy can't reach a server that listens on this machine only, such as the simulator.
 */
const OWN = ['localhost', '127.0.0.1', '::1'];

/**
 * Proxies of an environment (`http_proxy`, `https_proxy`, `no_proxy`, in either case), or null. `proxy:3128` means
 * `http://proxy:3128`; an invalid or overlong address is ignored.
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
  const text = given?.trim();
  if (!text || text.length > TEXT.setting) return undefined;
  const address = /^[a-z][a-z\d+.-]*:\/\//i.test(text) ? text : `http://${text}`;
  const url = URL.canParse(address) ? new URL(address) : null;
  if (!url || !/^https?:$/.test(url.protocol)) return undefined;
  const user = url.username && `${url.username}${url.password && `:${url.password}`}@`;
  return `${url.protocol}//${user}${url.host}`;
}
