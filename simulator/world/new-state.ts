import { Ids } from './ids';
import { newCluster, usualPrinters, type NewCluster } from './models';
import { secret } from './secrets';
import { VERSION, type Organization, type State, type User } from './state';

/**
 * Creates the initial state: these clusters in the first workspace, or so many, and one in the second. A listed cluster
 * compares files with its printers unless it says otherwise.
 */
export function newState(seed: number, printers: number | readonly NewCluster[], now: number): State {
  const state: State = {
    version: VERSION,
    seed,
    nextId: 1,
    clock: { real: now, virtual: 0 },
    organizations: [],
    users: [],
    clusters: [],
    projects: [],
    storedJobs: [],
    libraryFiles: [],
    uploadMode: 'one-time',
    reports: [],
    reportSwitch: {},
    memberships: 'ids',
    access: {
      signingKey: secret(),
      grants: [],
      nextToken: 1,
      expiredBelow: 0,
      expiredStatus: 401,
      exchanges: 0,
      refreshes: 0,
      reuseDetections: 0,
      lastAnswerAt: null,
    },
  };
  const ids = new Ids(seed, state);
  Object.assign(state, newAccounts(ids));
  const [workshop, school] = state.organizations.map(({ organizationId }) => organizationId);
  const { userId } = state.users[0]!;
  const listed: NewCluster[] =
    typeof printers === 'number'
      ? usualPrinters(printers)
      : printers.map((printer) => ({ mismatch: 'queued', ...printer }));
  for (const [index, about] of [...listed, {}].entries()) {
    const organizationId = index < listed.length ? workshop! : school!;
    state.clusters.push(newCluster(ids, { organizationId, userId }, index + 1, about, { now, virtual: 0 }));
  }
  state.projects = state.organizations.map(({ organizationId }) => ({
    libraryProjectId: ids.cloudId(),
    organizationId,
    displayName: 'Spare parts',
    ...{ shared: true, userId, createdAt: now, comments: [] },
  }));
  return state;
}

/** Creates users and workspaces: one user with two workspaces, one with a single one. */
function newAccounts(ids: Ids): Pick<State, 'organizations' | 'users'> {
  const organizations: Organization[] = ['Workshop', 'School'].map((organizationName) => ({
    organizationId: ids.cloudId(),
    organizationName,
  }));
  const [workshop, school] = organizations.map(({ organizationId }) => organizationId) as [string, string];
  const user = (username: string, name: string, organizationIds: string[]): User => ({
    userId: ids.cloudId(),
    username,
    password: `${username}-password`,
    name,
    organizationIds,
    apiTokens: [
      { token: `sim-${ids.upperHex(12)}_${ids.upperHex(6)}|${ids.upperHex(24)}`, organizationId: organizationIds[0]! },
    ],
  });
  return {
    organizations,
    users: [user('maker', 'Mona Maker', [workshop, school]), user('teacher', 'Theo Teacher', [school])],
  };
}
