import type { FileFacts, MaterialNeed } from '../toolpath/facts';

export type { FileFacts, MaterialNeed };

/** Requirement as a message gives it (`msg.require`); a member that is missing comes from the file. */
export interface Require {
  models?: readonly string[];
  printCores?: readonly (string | null)[];
  materials?: readonly (MaterialNeed | null)[];
  buildPlate?: string;
  tags?: readonly string[];
  /** Cluster ids. */
  printers?: readonly string[];
}

export type RequirementSource = 'service' | 'file' | 'message' | 'unknown';

/** Requirement of one file: the message's members over the file's. */
export interface Requirement {
  /** Null: unknown. */
  models: readonly string[] | null;
  printCores: readonly (string | null)[];
  materials: readonly (MaterialNeed | null)[];
  buildPlate: string | null;
  tags: readonly string[];
  /** Null: any. */
  printers: readonly string[] | null;
  volumes: readonly (number | null)[];
  /** Diameters of the nozzles, mm, of extruders without a print core. */
  nozzles: readonly (number | null)[];
  size: { x: number; y: number; z: number } | null;
  sources: Readonly<
    Record<
      'models' | 'printCores' | 'materials' | 'buildPlate' | 'tags' | 'printers' | 'volumes' | 'size',
      RequirementSource
    >
  >;
}
