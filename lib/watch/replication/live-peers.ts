import { Changes } from '../../sign-in/sign-in-state';
import type { Membership } from '../../state/membership';
import type { Peers } from './peers';

/** Live runtimes of one account. */
export class LivePeers implements Peers {
  readonly #membership: Membership;
  readonly #changes = new Changes();
  #known = '';

  constructor(membership: Membership) {
    this.#membership = membership;
  }

  get id(): string {
    return this.#membership.id;
  }

  isLiving(id: string): boolean {
    const { members } = this.#membership;
    return members.length === 0 || members.some((member) => member.id === id);
  }

  onChange(listener: () => void): () => void {
    return this.#changes.on(listener);
  }

  /** Call after the members may have changed. */
  refresh(): void {
    const known = this.#membership.members.map(({ id }) => id).join();
    if (known === this.#known) return;
    this.#known = known;
    if (known !== '') this.#changes.notify();
  }
}
