import { recordNotFound } from '../http/refusals';
import type {
  LibraryFile,
  LibraryProject,
  MaterialNeed,
  PrintTarget,
  Parsing,
  ParsingSwitch,
  StoredFile,
  StoredJob,
  UploadMode,
} from './state';
import type { ToolpathHeader } from './toolpath-header';
import { WorldBase } from './world-base';

type Announced = Pick<
  StoredFile,
  'organizationId' | 'userId' | 'clientId' | 'fileSize' | 'contentType' | 'origin' | 'libraryProjectId'
>;

/** A user in one workspace. */
type Member = Pick<StoredFile, 'organizationId' | 'userId'>;

export type FileStatus = 'uploading' | 'uploaded' | 'failed';

/** What a test changes of a stored job. */
export interface StoredJobChange {
  name?: string;
  /** Name of the uploader; null if the user was deleted. */
  username?: string | null;
  libraryProjectId?: string | null;
  parsing?: Parsing['result'] | 'pending';
  /** Why the service can't use the file; null if it can. */
  failure?: string | null;
}

/** Usual duration of parsing, virtual seconds. */
const PARSING_SECONDS = 2;

/** Properties of a file, determined while its bytes passed. */
export interface Arrived {
  size: number;
  sha256: string;
  printSeconds: number;
  /** Whether `printSeconds` comes from the file. */
  parsed: boolean;
  /** Material by the file's comments; empty without them. */
  needs: MaterialNeed[];
  /** Printer that the file is for, by its comments. */
  target?: PrintTarget;
  /** Header of the toolpath; null without one, `broken` also for a container without a toolpath. */
  header?: ToolpathHeader | null;
}

/** Stored jobs (toolpaths) and library files (everything else). */
export class Library extends WorldBase {
  storedJobs(organizationId?: string): StoredJob[] {
    return within(this.state.storedJobs, organizationId);
  }

  /** Returns a stored job; throws recordNotFound. */
  storedJob(jobId: string, organizationId?: string): StoredJob {
    return found(
      this.storedJobs(organizationId).find((job) => job.jobId === jobId),
      'PrintJob',
    );
  }

  /** Returns a stored job whose file is there and usable; `undefined` otherwise. */
  uploadedJob(jobId: string): StoredJob | undefined {
    const job = this.state.storedJobs.find((other) => other.jobId === jobId);
    return job && this.fileStatus(job) === 'uploaded' ? job : undefined;
  }

  libraryFiles(organizationId?: string): LibraryFile[] {
    return within(this.state.libraryFiles, organizationId);
  }

  /** Returns a library file; throws recordNotFound. */
  libraryFile(fileId: string, organizationId?: string): LibraryFile {
    return found(
      this.libraryFiles(organizationId).find((file) => file.fileId === fileId),
      'File',
    );
  }

  /** Projects of a user's workspace that the user sees. */
  libraryProjects({ organizationId, userId }: Member): LibraryProject[] {
    return within(this.state.projects, organizationId).filter((project) => project.shared || project.userId === userId);
  }

  /** Returns a project that a user sees; throws recordNotFound. */
  libraryProject(id: string, member: Member): LibraryProject {
    return found(
      this.libraryProjects(member).find(({ libraryProjectId }) => libraryProjectId === id),
      'LibraryProject',
    );
  }

  /** Creates a project that only its creator sees. */
  createProject(about: Pick<LibraryProject, 'organizationId' | 'userId' | 'displayName'>): LibraryProject {
    const createdAt = this.clock.now();
    const project = { ...about, libraryProjectId: this.ids.cloudId(), shared: false, createdAt, comments: [] };
    this.state.projects.push(project);
    this.options.changed();
    return project;
  }

  commentOn(project: LibraryProject, body: string, userId: string): LibraryProject['comments'][number] {
    const comment = { commentId: this.ids.cloudId(), body, userId, at: this.clock.now() };
    project.comments.push(comment);
    this.options.changed();
    return comment;
  }

  /** Present status of a stored file (wire facts 4.1). */
  fileStatus({ failure, uploadedAt }: StoredFile): FileStatus {
    if (failure !== undefined) return 'failed';
    return uploadedAt !== null && uploadedAt <= this.clock.now() ? 'uploaded' : 'uploading';
  }

  register(about: Announced & Pick<StoredJob, 'jobName' | 'sourceFileId'>): StoredJob {
    const job: StoredJob = { ...about, jobId: this.ids.cloudId(), ...this.announced(), printSeconds: 0, parsed: false };
    this.state.storedJobs.push(job);
    this.options.changed();
    return job;
  }

  registerFile(about: Announced & Pick<LibraryFile, 'fileName'>): LibraryFile {
    const file: LibraryFile = { ...about, fileId: this.ids.cloudId(), ...this.announced() };
    this.state.libraryFiles.push(file);
    this.options.changed();
    return file;
  }

  private announced(): Pick<StoredFile, 'key' | 'createdAt' | 'uploadMode' | 'usedAt' | 'uploadedAt' | 'sha256'> {
    const { uploadMode } = this.state;
    const createdAt = this.clock.now();
    return { key: this.ids.uuid(), createdAt, uploadMode, usedAt: null, uploadedAt: null, sha256: null };
  }

  /** Returns the file with this key in the object store, uploaded or not. */
  fileOfKey(key: string): StoredFile | undefined {
    return [...this.state.storedJobs, ...this.state.libraryFiles].find((file) => file.key === key);
  }

  /** Kind of future upload addresses. */
  get uploadMode(): UploadMode {
    return this.state.uploadMode;
  }

  setUploadMode(uploadMode: UploadMode): void {
    this.state.uploadMode = uploadMode;
    this.options.changed();
  }

  /** Sets the parsing of future files; an empty switch restores the default. */
  setParsing(parsingSwitch: ParsingSwitch = {}): void {
    this.state.parsingSwitch = parsingSwitch;
    this.options.changed();
  }

  /** Changes a stored job, like a user in the web interface, or the service. Throws recordNotFound. */
  setStoredJob(jobId: string, { name, username, libraryProjectId, parsing, failure }: StoredJobChange): void {
    const job = this.storedJob(jobId);
    if (name !== undefined) job.jobName = name;
    if (username !== undefined) job.username = username;
    if (libraryProjectId !== undefined) {
      if (libraryProjectId !== null) this.libraryProject(libraryProjectId, job);
      job.libraryProjectId = libraryProjectId;
    }
    if (parsing === 'pending') job.parsing = { at: null, result: 'success' };
    else if (parsing !== undefined) job.parsing = { at: this.clock.virtual(), result: parsing };
    if (failure === null) delete job.failure;
    else if (failure !== undefined) job.failure = failure;
    this.options.changed();
  }

  /** Present status of the parsing of an uploaded file. */
  parsingStatus({ parsing }: StoredJob): Parsing['result'] | 'pending' {
    if (!parsing) return 'success';
    return parsing.at === null || parsing.at > this.clock.virtual() ? 'pending' : parsing.result;
  }

  private parsing(header: ToolpathHeader | null): Parsing {
    const { outcome, seconds = PARSING_SECONDS } = this.state.parsingSwitch ?? {};
    return {
      at: outcome === 'stuck' ? null : this.clock.virtual() + 1000 * seconds,
      result: outcome === 'failed' || header === 'broken' ? 'failed' : 'success',
    };
  }

  /** Records an object at an upload address. Unless it is the whole file, the record says `uploading` forever. */
  stored(file: StoredFile, { size, sha256, printSeconds, parsed, needs, target, header = null }: Arrived): void {
    file.usedAt = this.clock.now();
    if (size === file.fileSize) {
      Object.assign(file, { sha256, uploadedAt: file.usedAt + this.options.uploadConfirmDelay });
      if ('printSeconds' in file) {
        Object.assign(file, { printSeconds, parsed, needs, target });
        Object.assign(file, { header: header === 'broken' ? null : header, parsing: this.parsing(header) });
      }
    }
    this.options.changed();
  }

  /**
   * Removes a stored job, like a user in the service's library. A print of it fails unless its printer has the file
   * already. Throws recordNotFound.
   */
  removeStoredJob(jobId: string): void {
    const job = this.storedJob(jobId);
    this.state.storedJobs = this.state.storedJobs.filter((other) => other !== job);
    for (const print of this.clusters().flatMap(({ queue }) => queue)) if (print.jobId === jobId) print.fileGone = true;
    this.options.dropBytes(job.key);
    this.options.changed();
  }

  /** Removes a library file; throws recordNotFound. */
  removeLibraryFile(fileId: string): void {
    const file = this.libraryFile(fileId);
    this.state.libraryFiles = this.state.libraryFiles.filter((other) => other !== file);
    this.options.dropBytes(file.key);
    this.options.changed();
  }
}

const within = <T extends { organizationId: string }>(entries: T[], organizationId: string | undefined): T[] =>
  entries.filter((entry) => organizationId === undefined || entry.organizationId === organizationId);

function found<T>(entry: T | undefined, record: string): T {
  if (entry === undefined) throw recordNotFound(record);
  return entry;
}
