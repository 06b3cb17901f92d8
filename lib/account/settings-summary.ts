import type { AccountSettings } from './settings';

/** Summarizes the settings for a problem report: no secrets, ids shortened. */
export function settingsSummary({ apiUrl, authUrl, paths, signIn, origin, organizationId }: AccountSettings) {
  const isToken = 'apiToken' in signIn;
  return {
    apiUrl,
    authUrl,
    storagePath: paths.storagePath,
    overriddenPaths: Object.keys(paths.overrides),
    signIn: isToken ? 'token' : 'oauth',
    scope: isToken ? null : signIn.scope,
    hasOrigin: origin !== '',
    organizationId: organizationId.length > 8 ? `${organizationId.slice(0, 6)}…` : organizationId,
  };
}
