import type { PrintingError } from '../../service/errors';
import { phrase, type Sentence } from '../../words/sentence';
import { SIGN_IN, type AffectedPrinters, type Outage } from '../checkpoints/outage-memory';
import { LIST } from '../polling/poll-result';
import { NAMED, nameFor, outageNotice, recoveryNotice, signedInNotice, signInNotice } from './notice';
import type { Watch } from './watch';

interface OutageNoticesOptions {
  signIn: { info?(): { error: Sentence | null } };
  nameOf: (clusterId: string) => string | null | undefined;
}

/** Notices of one account's outages, with the names of the affected printers. */
export class OutageNotices {
  constructor(private readonly options: OutageNoticesOptions) {}

  affected(clusterIds: readonly string[]): AffectedPrinters {
    const printers = clusterIds.filter((clusterId) => clusterId !== LIST);
    const names = printers.slice(0, NAMED).map((id) => nameFor(id, this.options.nameOf(id)));
    return { count: printers.length, names, clusterId: printers.length === 1 ? (printers[0] ?? null) : null };
  }

  noticeOf({ kind, error, members, affected }: Outage): PrintingError {
    const { signIn } = this.options;
    const about = affected ?? this.affected([...members]);
    const reason = signIn.info?.().error ?? phrase`Nobody is signed in any more: sign in with the account.`;
    return kind === SIGN_IN || !error ? signInNotice(reason, about) : outageNotice(error, about);
  }

  /** Sentence at the end of an outage that lasted `duration` ms. */
  recoveryOf({ kind }: Outage, affected: AffectedPrinters, duration: number): Sentence {
    return kind === SIGN_IN ? signedInNotice(duration) : recoveryNotice(affected, duration);
  }

  /** Combines a failure of several clusters in one sentence. */
  summary(error: PrintingError, clusterIds: readonly string[]): PrintingError {
    return outageNotice(error, this.affected(clusterIds));
  }
}

/** Delivers a notice to each audience that lacks it. */
export function deliver({ notified }: Outage, watches: readonly Watch[], error: PrintingError): void {
  // Requests in flight report the failure themselves.
  const asking = new Set(watches.filter((watch) => watch.isAsking).map(({ audience }) => audience));
  for (const watch of watches) {
    const { audience } = watch;
    if (watch.paused || asking.has(audience) || notified.has(audience)) continue;
    notified.add(audience);
    watch.notify(error);
  }
}
