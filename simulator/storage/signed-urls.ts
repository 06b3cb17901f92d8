import { createHmac } from 'node:crypto';
import { Refusal } from '../http/refusals';
import { same } from '../world/secrets';

const LIFETIME = 15 * 60_000;

type Purpose = 'upload' | 'download' | 'image' | 'preview' | 'report';

/** Signed addresses of the storage host, which need no token; valid for 15 minutes by default (wire facts 4.2). */
export class SignedUrls {
  constructor(
    private readonly key: string,
    private readonly now: () => number,
  ) {}

  /** Returns a signed path with query. */
  sign(purpose: Purpose, key: string, lifetime = LIFETIME): string {
    const expires = this.now() + lifetime;
    return `/${purpose}/${key}?expires=${expires}&signature=${this.signature(purpose, key, String(expires))}`;
  }

  /** Throws for a forged or expired address. */
  check(purpose: Purpose, key: string, query: URLSearchParams): void {
    const expires = query.get('expires') ?? '';
    if (!same(query.get('signature') ?? '', this.signature(purpose, key, expires)))
      throw new Refusal(403, 'SignatureDoesNotMatch', 'The signature of the address is wrong.');
    if (Number(expires) <= this.now()) throw new Refusal(403, 'AccessDenied', 'The address has expired.');
  }

  private signature(purpose: Purpose, key: string, expires: string): string {
    return createHmac('sha256', this.key).update(`${purpose}\n${key}\n${expires}`).digest('base64url');
  }
}
