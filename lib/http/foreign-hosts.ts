import { BlockList, isIP, type LookupFunction } from 'node:net';
import { PrintingError } from '../service/errors';
import { phrase } from '../words/sentence';

/** IPv4 networks that only this machine may ask: unspecified, its local link, the metadata of clouds. */
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

/** An IPv4 network, in the spellings of IPv6 that lead to it too: mapped, compatible, behind NAT64 and 6to4. */
function add4(list: BlockList, address: string, prefix: number): void {
  list.addSubnet(address, prefix, 'ipv4');
  const [a = 0, b = 0, c = 0, d = 0] = address.split('.').map(Number);
  const [high, low] = [((a << 8) | b).toString(16), ((c << 8) | d).toString(16)];
  list.addSubnet(`::ffff:${high}:${low}`, 96 + prefix, 'ipv6');
  list.addSubnet(`64:ff9b::${high}:${low}`, 96 + prefix, 'ipv6');
  list.addSubnet(`2002:${high}:${low}::`, 16 + prefix, 'ipv6');
  // `::1` stands beside the others of its kind.
  if (high !== '0') list.addSubnet(`::${high}:${low}`, 96 + prefix, 'ipv6');
}

function isAllowed(address: string, isLocal: boolean): boolean {
  const plain = address.split('%')[0] as string;
  const family = isIP(plain) === 6 ? 'ipv6' : 'ipv4';
  return !never.check(plain, family) && (isLocal || !loopback.check(plain, family));
}

/**
 * Whether a host that an answer of the service names may be called; a name that is resolved is checked by `guardedLookup`.
 * `isLocal`: the account's own hosts are on this machine, and so may be their storage. `hostname`: as a URL has it, which
 * writes every odd spelling of an address in the usual one.
 */
export function isForeignHost(hostname: string, isLocal: boolean): boolean {
  const bare = hostname.replace(/^\[|\]$/g, '');
  if (isIP(bare)) return isAllowed(bare, isLocal);
  return isLocal || !/(^|\.)localhost\.?$/i.test(bare);
}

/**
 * Resolves names as `lookup` does, and leaves out the addresses that must not be called. A name that leads to none but such is
 * refused, whenever it is resolved: between a check and a call it could change. A proxy resolves names by itself.
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
