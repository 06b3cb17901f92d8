import type { Application, NextFunction, Request, Response } from 'express';
import { readWebPath } from '../../lib/rules/web';
import { PrintingError } from '../../lib/service/errors';
import { guard } from '../../lib/time/guard';
import { phrase } from '../../lib/words/sentence';

/** Answers a request to a node; `rest` is the path below the node's own, with its slash, or empty. */
export type Answerer = (request: Request, response: Response, rest: string, next: NextFunction) => void;

/** A node's claim to a path. */
export interface Claim {
  answer: Answerer;
  /** Called when the path has become this node's. */
  granted: () => void;
}

/** Reads the setting `path`. Throws NOT_CONFIGURED. */
export function readPath(setting: string, example: string): string {
  const path = readWebPath(setting);
  if (path !== null) return path;
  const sentence = phrase`The node needs a path such as ${example}: correct it in the node.`;
  throw new PrintingError('NOT_CONFIGURED', sentence);
}

/**
 * The paths of all nodes of one Node-RED. Of several nodes with one path, the first that claims it has it; when it goes,
 * the next one takes over at once.
 */
export class WebPaths {
  readonly #claims = new Map<string, Claim[]>();

  /** Returns whether the claim has the path, and a function that gives it up. */
  claim(path: string, claim: Claim): { hasPath: () => boolean; release: () => void } {
    const claims = this.#claims.get(path) ?? [];
    this.#claims.set(path, claims);
    claims.push(claim);
    const release = () => {
      const had = claims[0] === claim;
      const at = claims.indexOf(claim);
      if (at >= 0) claims.splice(at, 1);
      if (claims.length === 0 && this.#claims.get(path) === claims) this.#claims.delete(path);
      const next = claims[0];
      if (had && next) guard(() => next.granted())();
    };
    return { hasPath: () => claims[0] === claim, release };
  }

  readonly handle = (request: Request, response: Response, next: NextFunction): void => {
    const found = this.#find(decoded(request.path));
    if (found) found.claim.answer(request, response, found.rest, next);
    else next();
  };

  /** The longest path that a request is at or below. */
  #find(requested: string): { claim: Claim; rest: string } | null {
    for (let path = requested; path !== ''; path = path.slice(0, path.lastIndexOf('/'))) {
      const claim = this.#claims.get(path)?.[0];
      if (claim) return { claim, rest: requested.slice(path.length) };
    }
    return null;
  }
}

/** A path as people write it; one that is malformed stays as it is. */
function decoded(path: string): string {
  try {
    return decodeURIComponent(path);
  } catch {
    return path;
  }
}

const known = new WeakMap<Application, WebPaths>();

/** The paths of a Node-RED. Its routes get one handler for all nodes, which outlives deploys: routes can't be removed. */
export function webPaths(httpNode: Application): WebPaths {
  const paths = known.get(httpNode) ?? new WebPaths();
  if (!known.has(httpNode)) {
    known.set(httpNode, paths);
    httpNode.use(paths.handle);
  }
  return paths;
}
