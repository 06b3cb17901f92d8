import { createHash } from 'node:crypto';
import { readdirSync, readFileSync, statSync } from 'node:fs';
import { join } from 'node:path';

/**
 * Digest of the names and contents of files. A missing path counts as an empty folder.
 * @param {string} root @param {string[]} paths files and folders below `root` @param {RegExp} [included] names of files
 */
export function digest(root, paths, included = /./) {
  const hash = createHash('sha256');
  for (const path of paths)
    for (const file of filesOf(root, path).sort())
      if (included.test(file))
        hash.update(`${file}\n`).update(
          createHash('sha256')
            .update(readFileSync(join(root, file)))
            .digest(),
        );
  return hash.digest('hex');
}

/** @param {string} root @param {string} path */
function filesOf(root, path) {
  const found = statSync(join(root, path), { throwIfNoEntry: false });
  if (!found?.isDirectory()) return found ? [path] : [];
  return readdirSync(join(root, path), { recursive: true, encoding: 'utf8' })
    .map((name) => join(path, name))
    .filter((file) => statSync(join(root, file)).isFile());
}
