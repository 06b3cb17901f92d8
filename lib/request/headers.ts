import { TEXT } from '../rules/limits';

/**
 * What tells how the bytes travelled on this one connection (RFC 9110, 7.6.1), or how long and packed they were before
 * they were read: untrue of the payload, and a flow that hands it on in an `http response` would break that answer.
 */
const OF_THE_CONNECTION = [
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['proxy-authenticate', 'content-length', 'content-encoding', 'content-range', 'content-md5', 'digest'],
  ...['content-digest', 'repr-digest', 'accept-ranges', 'alt-svc'],
];

/** A message travels anywhere: what signs somebody in must not travel with it. */
const SECRET = ['set-cookie', 'set-cookie2', 'authorization', 'proxy-authorization', 'authentication-info'];

/** The headers of an answer (lower-case names) that a message may carry. */
export function headersForFlow(headers: Record<string, string>): Record<string, string> {
  const named = (headers.connection ?? '')
    .slice(0, TEXT.field)
    .split(',')
    .map((name) => name.trim().toLowerCase());
  const kept = Object.entries(headers).filter(([name]) => ![...OF_THE_CONNECTION, ...SECRET, ...named].includes(name));
  return Object.fromEntries(kept);
}
