import { TEXT } from '../rules/limits';
import { readTopicPrefix } from '../rules/topics';
import { PrintingError } from '../service/errors';
import { isNilGuid } from '../service/material';
import { phrase } from '../words/sentence';

/** Characters that a discovery topic of Home Assistant can't contain. */
const FOREIGN = /[^\w-]/g;

/**
 * Id of a printer in topics and unique ids. It stays the same when the printer comes back under another cluster id, as long
 * as the service knows its host.
 */
export function deviceId(clusterId: string, hostGuid: string | null): string {
  const ofHost = hostGuid === null || isNilGuid(hostGuid) ? '' : plain(hostGuid.toLowerCase());
  return ofHost || plain(clusterId);
}

const plain = (id: string): string => id.slice(0, TEXT.matched).replace(FOREIGN, '');

/** First parts of the topics of discovery, and of the node's own. */
export type Prefixes = readonly [discoveryPrefix: string, topicPrefix: string];

/** The topics below the two prefixes of a node. */
export class Topics {
  readonly prefixes: Prefixes;
  readonly #discovery: string;
  readonly #own: string;

  /** Throws NOT_CONFIGURED for a prefix that is no topic. */
  constructor(discoveryPrefix: string, topicPrefix: string) {
    this.#discovery = prefixOf('discoveryPrefix', discoveryPrefix);
    this.#own = prefixOf('topicPrefix', topicPrefix);
    this.prefixes = [this.#discovery, this.#own];
  }

  get bridge(): string {
    return `${this.#own}/bridge`;
  }

  config(id: string): string {
    return `${this.#discovery}/device/remote_printing_${id}/config`;
  }

  of(id: string, what: 'state' | 'availability' | 'event' | 'picture' | 'command'): string {
    return `${this.#own}/${id}/${what}`;
  }

  /** Topics of a printer that a broker may retain: a flow can have commands retained. */
  retained(id: string, hasPicture: boolean): string[] {
    const own = ['state', 'availability', 'command', ...(hasPicture ? ['picture' as const] : [])] as const;
    return [this.config(id), ...own.map((what) => this.of(id, what))];
  }

  /** Whether a topic is one of the node's own. */
  isOwn(topic: string): boolean {
    return topic.startsWith(`${this.#own}/`);
  }

  /** Id of the printer that a command's topic names; null for any other topic. */
  commanded(topic: string): string | null {
    if (!this.isOwn(topic) || !topic.endsWith('/command')) return null;
    const id = topic.slice(this.#own.length + 1, -'/command'.length);
    return id === '' || id.includes('/') ? null : id;
  }

  /** Whether Home Assistant tells on this topic that it has started. */
  isBirth(topic: string): boolean {
    return topic.endsWith('/status') && !this.isOwn(topic);
  }
}

function prefixOf(name: string, setting: string): string {
  const prefix = readTopicPrefix(setting);
  if (prefix !== null) return prefix;
  throw new PrintingError('NOT_CONFIGURED', phrase`The setting ${name} is not a topic: correct it.`);
}
