/**
 * Scope of stored state: an account at a service (its API host, or `simulated`), in a workspace. Another scope has its
 * own state; switching back finds the earlier one (reference 6).
 */
export type Scope = readonly [accountId: string, service: string, workspace: string];

/** Current scope of an account; a sign-in can change the workspace. Rejects while the sign-in can't be read. */
export type CurrentScope = () => Promise<Scope>;
