import { phrase, type Sentence } from '../words/sentence';

/**
 * Returns the reason not to send a user's path, in words that follow "it contains", or null. A path that passes means
 * the same to every URL parser: nothing in it is stripped, folded or decoded into another host or out of the host's own
 * path.
 */
export function unsafePart(pathAndQuery: string): Sentence | null {
  if (/[^\x21-\x7e]/.test(pathAndQuery)) return phrase`a space, a control character or a letter that must be encoded`;
  if (pathAndQuery.includes('\\')) return phrase`a backslash`;
  if (pathAndQuery.includes('#')) return phrase`a # part`;
  if (/[{}]/.test(pathAndQuery)) return phrase`a { or }`;
  if (/%(?![\da-f]{2})/i.test(pathAndQuery)) return phrase`a % that encodes nothing`;
  const [path = '', ...query] = pathAndQuery.split('?');
  if (path.includes('//')) return phrase`an empty part (//)`;
  if (/%(25)*(2f|5c)/i.test(path)) return phrase`an encoded slash`;
  if (/%([01][\da-f]|7f)/i.test(path)) return phrase`an encoded control character`;
  // Some servers decode twice, or cut parameters (;) off before they evaluate the dots.
  if (path.split('/').some((part) => /^(\.|%(25)*2e){1,2}(;|$)/i.test(part))) return phrase`a . or .. part`;
  if (!/^[\w\-.~!$&'()*+,;=:@%/]*$/.test(path)) return phrase`a character that must be encoded`;
  if (!/^[\w\-.~!$&'()*+,;=:@%/?[\]|]*$/.test(query.join('?'))) return phrase`a character that must be encoded`;
  return null;
}
