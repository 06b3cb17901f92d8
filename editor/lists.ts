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

interface StoredJob {
  jobId: string;
  name: string | null;
  fileSize: number | null;
  uploadedAt: string | null;
  uploadedBy: string | null;
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

  /** Uploaded print files, by `jobId`, newest first; the runtime searches those that a long list leaves out. */
  async storedJobs(account: string | undefined, search: string): Promise<Choice[]> {
    const jobs = await accountList<StoredJob>(account, `/stored-jobs?search=${encodeURIComponent(search)}`);
    return jobs.map(({ jobId, name, fileSize, uploadedAt, uploadedBy }) => ({
      value: jobId,
      name: name || jobId,
      details: [...some(sizeIn(fileSize)), ...some(localTime(uploadedAt)), ...some(uploadedBy)],
    }));
  },
};

const jobsOf = (account: string | undefined, cluster: string) =>
  accountList<ListedJob>(account, `/jobs?cluster=${encodeURIComponent(cluster)}`);

function jobChoice(value: string, { name, state, printerName, createdAt }: Omit<ListedJob, 'clusterJobId'>): Choice {
  const details = [text(`job.${state}`), ...some(printerName), ...some(localTime(createdAt))];
  return { value, name: name || value, details, current: state === 'printing' };
}

const localTime = (at: string | null): string | null => (at === null ? null : new Date(at).toLocaleString());

function sizeIn(bytes: number | null): string | null {
  if (bytes === null) return null;
  const [size, unit] = bytes < 1e6 ? [bytes / 1e3, 'kB'] : [bytes / 1e6, 'MB'];
  return `${size.toLocaleString(undefined, { maximumFractionDigits: 1 })} ${unit}`;
}

const some = (words: string | null): string[] => (words ? [words] : []);
