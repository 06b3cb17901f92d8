import { BlockList, isIP, type LookupFunction } from 'node:net';
import { isLoopback } from '../rules/addresses';
import { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';

/** IPv4 networks that no service address may lead to: unspecified, link-local, cloud metadata. */
const NEVER: [address: string, prefix: number][] = [
  ['0.0.0.0', 8],
  ['169.254.0.0', 16],
  ['100.100.100.200', 32],
  ['168.63.129.16', 32],
  ['192.0.0.192', 32],
];

const loopback = new BlockList();
add4(loopback, '127.0.0.0', 8);
loopback.addAddress('::1', 'ipv6');

const never = new BlockList();
for (const [address, prefix] of NEVER) add4(never, address, prefix);
never.addAddress('::', 'ipv6');
never.addSubnet('fe80::', 10, 'ipv6');
never.addAddress('fd00:ec2::254', 'ipv6');

/** Adds an IPv4 network, including its IPv6 forms: mapped, compatible, NAT64 and 6to4. */
function add4(list: BlockList, address: string, prefix: number): void {
  list.addSubnet(address, prefix, 'ipv4');
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const [high, low] = [((a << 8) | b).toString(16), ((c << 8) | d).toString(16)];
  list.addSubnet(`::ffff:${high}:${low}`, 96 + prefix, 'ipv6');
  list.addSubnet(`64:ff9b::${high}:${low}`, 96 + prefix, 'ipv6');
  list.addSubnet(`2002:${high}:${low}::`, 16 + prefix, 'ipv6');
  // The compatible form of 0.0.0.0/8 would include `::1`, which has its own entry.
  if (high !== '0') list.addSubnet(`::${high}:${low}`, 96 + prefix, 'ipv6');
}

function isAllowed(address: string, isLocal: boolean): boolean {
  const plain = address.split('%')[0] as string;
  const family = isIP(plain) === 6 ? 'ipv6' : 'ipv4';
  return !never.check(plain, family) && (isLocal || !loopback.check(plain, family));
}

/**
 * Whether a host in an answer of the service may be called. A name passes here; `guardedLookup` checks its addresses.
 * `isLocal`: the account's own hosts are on this machine, so their storage may be too. `hostname`: from a URL, which
 * normalizes unusual spellings of an address.
 */
export function isForeignHost(hostname: string, isLocal: boolean): boolean {
  const bare = hostname.replace(/^\[|\]$/g, '');
  if (isIP(bare)) return isAllowed(bare, isLocal);
  return isLocal || !/(^|\.)localhost\.?$/i.test(bare);
}

/**
 * Resolves names like `lookup`, without the addresses that must not be called. Refuses a name that has no other
 * address. The check runs on every resolution, because the answer could change between a check and a call. Behind a
 * proxy, the proxy resolves names itself.
 */
export const guardedLookup =
  (isLocal: boolean, lookup: LookupFunction): LookupFunction =>
  (hostname, options, callback) => {
    lookup(hostname, { ...options, all: true }, (error, found, family) => {
      if (error) return callback(error, []);
      const addresses = Array.isArray(found) ? found : [{ address: found, family: family ?? isIP(found) }];
      const allowed = addresses.filter(({ address }) => isAllowed(address, isLocal));
      const [first] = allowed;
      if (!first) callback(forbidden(hostname), []);
      else if (options.all) callback(null, allowed);
      else callback(null, first.address, first.family);
    });
  };

export const forbidden = (host: string): PrintingError =>
  new PrintingError(
    'SERVICE_ERROR',
    phrase`The service named the host ${host}, which leads to this machine or its local link and is never called: check the DNS of the network.`,
    { outcome: 'refused' },
  );

/**
 * Checks an address for transfers of files; returns null for one that isn't allowed. Allowed is https, except to this
 * machine, its local link or a cloud's metadata. If the account's own hosts are on this machine (`isLocal`), addresses
 * on it are allowed as well, with plain http too.
 */
export function storageAddress(given: unknown, isLocal: boolean): string | null {
  const parsed = typeof given === 'string' && URL.canParse(given) ? new URL(given) : null;
  if (!parsed || !isForeignHost(parsed.hostname, isLocal)) return null;
  const isSafe = parsed.protocol === 'https:' || (isLocal && parsed.protocol === 'http:' && isLoopback(parsed.href));
  return isSafe ? parsed.href : null;
}
