import type { PrintingError } from '../service/errors';
import { isoTime } from '../time/clock';
import type { SignInInfo } from './credentials';
import { holderOf, whyEnded, type Grant } from './grant';
import { showable } from './lifetime';
import type { SignInState } from './sign-in-state';

/** Describes a sign-in for the editor. `error` is the last failure, if any. */
export function signInInfo(state: SignInState, grant: Grant | undefined, error: PrintingError | undefined): SignInInfo {
  const holder = grant && holderOf(grant);
  return {
    state,
    user: holder?.user ?? null,
    organizationId: holder?.organizationId ?? null,
    expiresAt: grant && !grant.ended ? isoTime(showable(grant.expiresAt)) : null,
    error: (grant && whyEnded(grant)) ?? error?.sentence ?? null,
  };
}
