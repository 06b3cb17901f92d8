import type { Choice } from './combobox';
import { rememberPrinters } from './printer-names';
import { accountList } from './requests';
import { text } from './texts';

interface ListedCluster {
  clusterId: string;
  name: string | null;
  model: string | null;
  online: boolean | null;
  printers: { printerId: string | null; name: string | null }[];
}

interface ListedJob {
  clusterJobId: string | null;
  jobId: string | null;
  name: string | null;
  state: string;
  printerName: string | null;
  createdAt: string | null;
}

/** Lists of an account's items; each rejects with an Error that names the next step. */
export const lists = {
  clusters: async (account: string | undefined): Promise<Choice[]> => {
    const listed = await accountList<ListedCluster>(account, '/clusters');
    rememberPrinters(account ?? '', listed);
    return listed.map(({ clusterId, name, model, online }) => ({
      value: clusterId,
      name: name || clusterId,
      details: some(model),
      online,
    }));
  },

  async printersOf(account: string | undefined, cluster: string): Promise<Choice[]> {
    const listed = await accountList<ListedCluster>(account, '/clusters');
    const printers = listed.find(({ clusterId }) => clusterId === cluster)?.printers ?? [];
    return printers.flatMap(({ printerId, name }) =>
      printerId ? [{ value: printerId, name: name || printerId, details: [] }] : [],
    );
  },

  /** Print jobs, by `clusterJobId`. */
  async printJobs(account: string | undefined, cluster: string): Promise<Choice[]> {
    const jobs = await jobsOf(account, cluster);
    return jobs.flatMap(({ clusterJobId, ...job }) => (clusterJobId ? [jobChoice(clusterJobId, job)] : []));
  },

  /** Uploaded print files, by `jobId`, without duplicates. */
  async storedJobs(account: string | undefined): Promise<Choice[]> {
    const jobs = await jobsOf(account, '');
    const files = new Map<string, Choice>();
    for (const { jobId, name } of jobs)
      if (jobId && !files.has(jobId)) files.set(jobId, { value: jobId, name: name || jobId, details: [] });
    return [...files.values()];
  },
};

const jobsOf = (account: string | undefined, cluster: string) =>
  accountList<ListedJob>(account, cluster ? `/jobs?cluster=${encodeURIComponent(cluster)}` : '/jobs');

function jobChoice(value: string, { name, state, printerName, createdAt }: Omit<ListedJob, 'clusterJobId'>): Choice {
  const made = createdAt === null ? null : new Date(createdAt).toLocaleString();
  const details = [text(`job.${state}`), ...some(printerName), ...some(made)];
  return { value, name: name || value, details, current: state === 'printing' };
}

const some = (words: string | null): string[] => (words ? [words] : []);
