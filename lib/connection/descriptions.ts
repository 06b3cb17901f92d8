import { OVERRIDABLE } from '../rules/paths';
import { ENDPOINTS, type PathSettings, type Target } from '../service/paths';
import type { Deadline } from '../time/deadline';
import type { Ask } from './ask';
import type { Check } from './check';
import { callInUse, compare, readCall } from './compare';
import { describedCalls, segmentsOf, type DescribedCall } from './openapi';
import { phrase } from '../words/sentence';

interface DescriptionContext {
  ask: Ask;
  paths: PathSettings;
  bearer: string;
  /** Whether there is an account host to ask. */
  hasAccountHost: boolean;
}

const PATIENCE = 10_000;

interface Base {
  host: Target['host'];
  path: string;
}

/**
 * Compares the uncertain paths with the service's own description (wire facts 1), if it has one: one line for each path
 * that the description covers, with a suggestion if it names another path.
 */
export async function checkDescriptions(context: DescriptionContext, deadline: Deadline): Promise<Check[]> {
  const { ask, paths, bearer, hasAccountHost } = context;
  const bases: Base[] = [
    { host: 'api', path: '/connect/v1' },
    { host: 'api', path: paths.storagePath },
    { host: 'api', path: '/report/v1' },
    ...(hasAccountHost ? [{ host: 'auth' as const, path: '' }] : []),
  ];
  const limit = deadline.within(PATIENCE);
  const found = await Promise.all(
    bases.map(async (base) => ({ base, calls: await read(base, ask, bearer, limit) })),
  ).finally(() => limit.end());
  const served = found.filter((one): one is { base: Base; calls: DescribedCall[] } => one.calls !== null);
  const name = 'description';
  if (served.length === 0)
    return [
      { name, ok: null, detail: phrase`The service does not describe itself here, so the paths were not compared.` },
    ];
  const whole: Check = {
    name,
    ok: true,
    detail: phrase`The service describes itself: ${served.map(({ base, calls }) => `${base.path || '/'} (${calls.length})`).join(', ')}.`,
  };
  const compared = OVERRIDABLE.flatMap((overridable): Check[] => {
    const wanted = readCall(ENDPOINTS[overridable].call, paths.storagePath);
    const isOn = ({ host, path }: Base) =>
      // The user's path is known for neither host.
      overridable === 'currentUser' ||
      (host === wanted.host && segmentsOf(path).every((part, at) => part === wanted.parts[at]));
    const calls = served.filter(({ base }) => isOn(base)).flatMap((one) => one.calls);
    if (calls.length === 0) return [];
    const call = callInUse(overridable, paths.overrides);
    const check = { name: `described.${overridable}` };
    const result = compare(overridable, paths, calls);
    switch (result.kind) {
      case 'same':
        return [{ ...check, ok: true, detail: phrase`${call} is described.` }];
      case 'other':
        return [
          {
            ...check,
            ok: false,
            detail: phrase`${call} is not described, but ${result.call} is.`,
            suggestion: { name: overridable, value: result.call },
          },
        ];
      case 'none':
        return [{ ...check, ok: null, detail: phrase`${call} is not described, and nothing similar is.` }];
    }
  });
  return [whole, ...compared];
}

/** Null if there is no description, or if it can't be read. */
async function read({ host, path }: Base, ask: Ask, bearer: string, limit: Deadline): Promise<DescribedCall[] | null> {
  try {
    const { status, body } = await ask({ host, path: `${path}/spec?version=`, bearer }, limit);
    return status === 200 ? describedCalls(body, host, path) : null;
  } catch {
    return null;
  }
}
