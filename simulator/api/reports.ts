import { readData } from '../http/bodies';
import { requiredField } from '../http/refusals';
import { checkReport, REPORT_FIELDS, reportStatus } from '../world/report';
import type { Route } from '../http/server';
import { signedInRoutes, type ApiParts } from './signed-in';
import type { Report } from '../world/state';

/** Reports: calls 14 and 15 (wire facts 10). */
export function reportRoutes(parts: ApiParts): Route[] {
  const { world, urls } = parts;
  const signedIn = signedInRoutes(parts.tokens);
  // One client also sends this field, as null.
  const fields = parts.lenient ? [...REPORT_FIELDS, 'generated_time'] : REPORT_FIELDS;
  const record = (report: Report): unknown => {
    const status = reportStatus(report, parts.now());
    const url = (): string => parts.storageUrl() + urls.sign('report', report.key);
    return { data: { report_id: report.reportId, status, ...(status === 'success' ? { download_url: url() } : {}) } };
  };
  return [
    signedIn(
      'createReport',
      'PUT',
      '/report/v1/reports',
      async (call, { organizationId }) => {
        const data = await readData(call, 'ReportRequest', fields);
        if (!data) throw requiredField('ReportRequest', 'data');
        const wanted = checkReport(data);
        for (const id of wanted.clusterIds) world.cluster(id, organizationId);
        return record(world.order({ ...wanted, organizationId }));
      },
      201,
    ),
    signedIn('getReport', 'GET', '/report/v1/reports/{report_id}', ({ params }, { organizationId }) =>
      record(world.report(params.report_id!, organizationId)),
    ),
  ];
}
