import { Ids } from './ids';
import { newCluster } from './models';
import { secret } from './secrets';
import type { Organization, State, User } from './state';

/** Creates the initial state: `printers` clusters in the first workspace, one in the second. */
export function newState(seed: number, printers: number, now: number): State {
  const state: State = {
    version: 3,
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
  for (let number = 1; number <= printers + 1; number++) {
    const organizationId = number <= printers ? workshop! : school!;
    state.clusters.push(newCluster(ids, { organizationId, userId }, number, {}, { now, virtual: 0 }));
  }
  state.projects = state.organizations.map(({ organizationId }) => ({
    libraryProjectId: ids.cloudId(),
    organizationId,
    displayName: 'Spare parts',
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
