import { createHash } from 'node:crypto';
import { open } from 'node:fs/promises';

const BLOCK = 4 * 1024 * 1024;

/**
 * Writes a toolpath of exactly `size` bytes, as a slicer does: layer after layer of moves, all layers different.
 * On return, the file is on disk and in the page cache.
 * @param {string} path
 * @param {number} size bytes
 * @returns {Promise<{ path: string, size: number, sha256: string }>}
 */
export async function writeGcode(path, size) {
  const layer = moves(BLOCK);
  const hash = createHash('sha256');
  const file = await open(path, 'wx');
  try {
    for (let at = 0, number = 0; at < size; number++) {
      layer.write(`;LAYER:${String(number).padStart(8, '0')}\n`);
      const part = layer.subarray(0, size - at);
      hash.update(part);
      await file.writeFile(part);
      at += part.length;
    }
    await file.sync();
  } finally {
    await file.close();
  }
  return { path, size, sha256: hash.digest('hex') };
}

/** @param {number} size bytes */
function moves(size) {
  const lines = [];
  let length = 0;
  for (let number = 0, extruded = 0; length < size; number++) {
    const angle = number * 2.399963;
    extruded += 0.0331;
    const [x, y] = [110 + 90 * Math.cos(angle), 110 + 90 * Math.sin(angle)];
    const text = `G1 X${x.toFixed(3)} Y${y.toFixed(3)} E${extruded.toFixed(5)}\n`;
    lines.push(text);
    length += text.length;
  }
  return Buffer.from(lines.join('')).subarray(0, size);
}
