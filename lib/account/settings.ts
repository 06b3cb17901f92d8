import { hostFault, hostOf, isLoopback, isOrigin, isRedirectUri } from '../rules/addresses';
import { readStoragePath } from '../rules/paths';
import { trimmed, variableOf } from '../rules/text';
import { PrintingError } from '../service/errors';
import { readOverrides, type PathSettings } from '../service/paths';
import type { SignInSettings } from '../sign-in/grant';
import { phrase, type Sentence } from '../words/sentence';

/** The scope of the service's own sample application (wire facts 3.2). */
export const DEFAULT_SCOPE =
  'account.user.read connect.cluster.read connect.cluster.write library.project.read library.project.write ' +
  'slicer.printjob.read slicer.printjob.write report.read report.write';

/** An account's properties and credentials as the user entered them (reference 2.1); each may be missing. */
export interface AccountConfig {
  authUrl?: string;
  apiUrl?: string;
  storagePath?: string;
  signIn?: string;
  scope?: string;
  redirectUri?: string;
  origin?: string;
  organizationId?: string;
  paths?: string;
  clientId?: string;
  clientSecret?: string;
  apiToken?: string;
}

/** The checked and completed settings of an account. */
export interface AccountSettings {
  apiUrl: string;
  /** Blank for a static token without an account host. */
  authUrl: string;
  paths: PathSettings;
  /** Settings of the sign-in, or the static token. */
  signIn: SignInSettings | { apiToken: string };
  /** Web origin sent with uploads; blank for none. */
  origin: string;
  organizationId: string;
}

/** Reads the settings. Throws NOT_CONFIGURED with a sentence that names the first missing or malformed one. */
export function readSettings(given: AccountConfig, { simulated = false } = {}): AccountSettings {
  const config = numbersAsText(given);
  const isStatic = config.signIn === 'token';
  checkInUse(config);
  return {
    apiUrl: readHost(config.apiUrl, phrase`API host`),
    authUrl: isStatic && !trimmed(config.authUrl) ? '' : readHost(config.authUrl, phrase`account host`),
    paths: { storagePath: readPrefix(config.storagePath), overrides: readOverrides(config.paths) },
    signIn: isStatic
      ? { apiToken: readToken('apiToken', trimmed(config.apiToken) || undefined) ?? '' }
      : { ...readSignIn(config), ...(simulated && { simulated }) },
    origin: readOrigin(config.origin),
    organizationId: trimmed(config.organizationId),
  };
}

/** Whether all hosts are loopback addresses. */
export const isOnThisMachine = ({ apiUrl, authUrl }: AccountSettings): boolean =>
  [apiUrl, authUrl].every((url) => url === '' || isLoopback(url));

const TEXTS = [
  ...['authUrl', 'apiUrl', 'storagePath', 'signIn', 'scope', 'redirectUri', 'origin', 'organizationId', 'paths'],
  ...['clientId', 'clientSecret', 'apiToken'],
];

/** Settings that the other kind of sign-in uses. */
const UNUSED = { token: ['clientId', 'clientSecret', 'scope', 'redirectUri'], oauth: ['apiToken'] };

/**
 * Returns the settings with text in place of numbers: Node-RED replaces the name of a variable by its value, which a tab
 * or a subflow may declare as a number.
 */
export const numbersAsText = (config: AccountConfig): AccountConfig => ({
  ...config,
  ...Object.fromEntries(
    Object.entries(config)
      .filter(([name, value]) => TEXTS.includes(name) && Number.isFinite(value))
      .map(([name, value]) => [name, String(value)]),
  ),
});

/** Throws NOT_CONFIGURED for a setting in use that is not text, or names an environment variable without a value. */
function checkInUse(config: AccountConfig): void {
  const unused = UNUSED[config.signIn === 'token' ? 'token' : 'oauth'];
  const used = Object.entries(config).filter(([name]) => !unused.includes(name));
  checkSet(Object.fromEntries(used));
  const odd = used.find(([name, value]) => TEXTS.includes(name) && typeof (value ?? '') !== 'string');
  if (!odd) return;
  const kind = typeof odd[1] === 'object' ? phrase`an object` : phrase`a ${typeof odd[1]}`;
  throw new PrintingError('NOT_CONFIGURED', phrase`The property ${odd[0]} must be a string, but it is ${kind}.`);
}

/** Throws NOT_CONFIGURED for the first setting that still names an environment variable: the variable is not set. */
export function checkSet(settings: Readonly<Record<string, unknown>>): void {
  for (const [name, value] of Object.entries(settings)) {
    const variable = variableOf(value);
    // A name is only shown.
    if (variable !== null && name !== 'name' && name !== 'info') throw unset(name, variable);
  }
}

/** NOT_CONFIGURED for a setting whose environment variable is not set. */
export const unset = (name: string, variable: string): PrintingError =>
  new PrintingError(
    'NOT_CONFIGURED',
    phrase`The setting ${name} names the environment variable ${variable}, which is not set: set it, then restart Node-RED.`,
  );

/** Reads the settings for a sign-in, even before the account is deployed. */
export function readSignIn(given: AccountConfig): SignInSettings {
  const config = numbersAsText(given);
  checkInUse(config);
  const authUrl = readHost(config.authUrl, phrase`account host`);
  const clientId = trimmed(config.clientId);
  if (!clientId) throw new PrintingError('NOT_CONFIGURED', phrase`The account has no client ID: fill it in.`);
  const clientSecret = trimmed(config.clientSecret);
  if (!clientSecret) throw new PrintingError('NOT_CONFIGURED', phrase`The account has no client secret: fill it in.`);
  return { authUrl, clientId, clientSecret, scope: trimmed(config.scope) || DEFAULT_SCOPE };
}

/**
 * Reads a host of the service, in its one spelling. Tokens are sent to it, so it must be `https://…`; plain
 * `http:` is for loopback addresses only (reference 2.1). Throws NOT_CONFIGURED.
 */
export function readHost(value: unknown, name: Sentence): string {
  const fault = hostFault(value);
  if (fault === 'missing') throw new PrintingError('NOT_CONFIGURED', phrase`The account has no ${name}: fill it in.`);
  if (fault)
    throw new PrintingError(
      'NOT_CONFIGURED',
      phrase`The account's ${name} must be an address like https://host (http only for this computer itself).`,
    );
  return hostOf(value);
}

/**
 * Reads a secret without surrounding blanks; null for none. Throws NOT_CONFIGURED for an environment variable that is not
 * set or blank: Node-RED itself stores no blank secret.
 */
export function readSecret(name: string, value: unknown): string | null {
  if (value === undefined) return null;
  checkSet({ [name]: value });
  const secret = trimmed(typeof value === 'number' ? String(value) : value);
  if (secret) return secret;
  throw new PrintingError(
    'NOT_CONFIGURED',
    phrase`The setting ${name} names an environment variable that is blank: set it, then restart Node-RED.`,
  );
}

/** Reads a token, which is sent unchanged (wire facts 3.1). Rejects only characters that a header can't carry. */
export function readToken(name: string, value: unknown): string | null {
  const token = readSecret(name, value);
  if (token === null || !/[^\x21-\x7e]/.test(token)) return token;
  throw new PrintingError(
    'NOT_CONFIGURED',
    phrase`The setting ${name} contains a blank or another character that no token has: enter it again.`,
  );
}

function readPrefix(value: unknown): string {
  const prefix = readStoragePath(value);
  if (prefix === null)
    throw new PrintingError('NOT_CONFIGURED', phrase`The account's storage path must look like /slicer/v1.`);
  return prefix;
}

function readOrigin(value: unknown): string {
  const origin = trimmed(value);
  if (origin && !isOrigin(origin))
    throw new PrintingError(
      'NOT_CONFIGURED',
      phrase`The account's origin must be a web origin like https://example.org.`,
    );
  return origin;
}

/** Reads the redirect URI that is sent to the service. Throws NOT_CONFIGURED for an invalid one. */
export function readRedirect(value: unknown): string {
  if (!isRedirectUri(value))
    throw new PrintingError('NOT_CONFIGURED', phrase`The redirect URI must be a web address without a # part.`);
  return trimmed(value);
}

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
