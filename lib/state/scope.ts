/**
 * What stored state belongs to: an account at a service (its API host, or `simulated`), in a workspace. Another of these
 * is other state, and coming back finds the old one (reference 6).
 */
export type Scope = readonly [accountId: string, service: string, workspace: string];

/** The scope of an account now: a sign-in can change the workspace. Rejects while nobody can tell. */
export type CurrentScope = () => Promise<Scope>;
