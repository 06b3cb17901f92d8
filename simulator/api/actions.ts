import { actionRule, actionStatus } from '../world/actions/dispatch';
import { readData } from '../http/bodies';
import type { Call, Route } from '../http/server';
import { signedInRoutes, type ApiParts } from './signed-in';
import type { Caller } from '../auth/tokens';
import type { Action, Cluster } from '../world/state';

const PATH = '/connect/v1/clusters/{cluster_id}';

/** Printer actions, print job actions and their status: calls 12 and 13 (wire facts 9 and 13.1). */
export function actionRoutes(parts: ApiParts): Route[] {
  const { world, urls } = parts;
  const signedIn = signedInRoutes(parts.tokens);

  const record = (action: Action): unknown => ({
    data: {
      action_id: action.actionId,
      status: actionStatus(action, world.moment().at),
      ...(action.ended && !action.silent && action.scene ? { status_details: picture(action) } : {}),
    },
  });
  const picture = ({ actionId }: Action): unknown => ({
    type: 'webcam_snapshot',
    value: { image_url: parts.storageUrl() + urls.sign('image', actionId) },
  });

  /** The uuid of a print job or printer; one client calls the host printer by the host's guid (wire facts 9). */
  const targetOf = ({ hostGuid, printers }: Cluster, kind: Action['kind'], id: string): string =>
    parts.lenient && kind === 'printer' && id === hostGuid ? printers[0]!.uuid : id;

  const dispatch =
    (kind: Action['kind'], parameter: string) =>
    async (call: Call, { userId, organizationId }: Caller): Promise<unknown> => {
      const { params } = call;
      const cluster = world.cluster(params.cluster_id!, organizationId);
      const name = params.action!;
      const data = (await readData(call, 'Action', actionRule(kind, name).fields)) ?? {};
      const target = targetOf(cluster, kind, params[parameter]!);
      return record(world.dispatch(cluster, { kind, target, name, data, userId }));
    };

  return [
    signedIn(
      'printerAction',
      'POST',
      `${PATH}/printers/{printer_id}/action/{action}`,
      dispatch('printer', 'printer_id'),
      201,
    ),
    signedIn(
      'jobAction',
      'POST',
      `${PATH}/print_jobs/{cluster_job_id}/action/{action}`,
      dispatch('print_job', 'cluster_job_id'),
      201,
    ),
    signedIn('actionStatus', 'GET', `${PATH}/action_status/{action_id}`, ({ params }, { organizationId }) =>
      record(world.action(world.cluster(params.cluster_id!, organizationId), params.action_id!)),
    ),
  ];
}
