import { TEXT } from '../rules/limits';

/**
 * Headers about this one connection (RFC 9110, 7.6.1), or about the length and coding of the bytes before they were
 * decoded. They don't apply to the payload, and would break an `http response` that a flow sends.
 */
const OF_THE_CONNECTION = [
  ...['connection', 'keep-alive', 'proxy-connection', 'te', 'trailer', 'transfer-encoding', 'upgrade'],
  ...['proxy-authenticate', 'content-length', 'content-encoding', 'content-range', 'content-md5', 'digest'],
  ...['content-digest', 'repr-digest', 'accept-ranges', 'alt-svc'],
];

/** Headers with credentials: a message may travel anywhere. */
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
