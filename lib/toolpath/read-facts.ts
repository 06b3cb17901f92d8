import { TOOLPATH } from '../rules/limits';
import { readMetadata } from '../service/stored-file';
import type { Deadline } from '../time/deadline';
import { type Content, openContent, type Source } from '../upload/content';
import { bytesAt, inflateHead } from './bytes';
import { byExtruder, completed, type FileFacts, materialNeed, unlessBlank } from './facts';
import { curaFacts, elapsedIn, griffinFacts, orcaFacts, prusaFacts } from './slicers';

/**
 * Facts that a file states about itself, read from its two ends (print queue, 6). Null if it states none, and for a
 * stream, whose bytes can't be read twice. Throws the errors of `openContent`.
 */
export async function factsOfFile(source: Source, deadline: Deadline): Promise<FileFacts | null> {
  if (source.kind === 'stream') return null;
  const content = await openContent(source, deadline);
  try {
    return await factsOfContent(content);
  } finally {
    await content.close();
  }
}

/** Facts of opened content, as `factsOfFile` reads them. */
export async function factsOfContent(content: Content): Promise<FileFacts | null> {
  if (!content.repeatable) return null;
  const head = await bytesAt(content, 0);
  if (head.subarray(0, 2).equals(GZIP)) return factsOfText(await inflateHead(head, 'gzip'));
  if (head.subarray(0, 4).equals(ZIP)) {
    // Loads a library for zip files.
    const { modelHead } = require('./ufp') as typeof import('./ufp');
    const model = await modelHead(content);
    return model && factsOfText(model);
  }
  return factsOfText(
    head,
    content.size > TOOLPATH.bytes ? await bytesAt(content, content.size - TOOLPATH.bytes) : head,
  );
}

/** First bytes of the containers. */
const GZIP = Buffer.from([0x1f, 0x8b]);
const ZIP = Buffer.from('PK\x03\x04');

function factsOfText(headBytes: Buffer, tailBytes = headBytes): FileFacts | null {
  const head = decode(headBytes);
  const tail = tailBytes === headBytes ? head : decode(tailBytes);
  const sources = [griffinFacts(head), orcaFacts(head, tail), prusaFacts(tail), curaFacts(head)];
  const [first, ...others] = sources.filter((facts) => facts !== null);
  if (!first) return null;
  // Some slicers write the head before they know the figures, and these to the end of the file.
  const facts = others.reduce(completed, first);
  facts.seconds ??= elapsedIn(tail);
  // A copy, as parts of a string keep all of it in memory.
  return structuredClone(facts);
}

/** Also removes a byte order mark. */
const decode = (bytes: Buffer): string => new TextDecoder().decode(bytes);

/** Facts in the `metadata` of a stored job's record (wire facts 4.1); null if it has none, or not yet. */
export function factsOfMetadata(wire: unknown): FileFacts | null {
  const metadata = readMetadata(wire);
  if (!metadata) return null;
  const { model, printCores, nozzles, materials, buildPlate, seconds, size } = metadata;
  const extruders = materials.map((material, extruder) => {
    const facts = {
      printCore: printCores[extruder] ?? null,
      material: material && materialNeed(material),
      volume: material?.volume ?? null,
      weight: material?.weight ?? null,
      nozzle: nozzles[extruder] ?? null,
    };
    return [extruder, facts] as const;
  });
  return unlessBlank({ source: 'service', model, ...byExtruder(new Map(extruders)), buildPlate, seconds, size });
}
