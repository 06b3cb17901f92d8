import { readFileSync } from 'node:fs';
import { join, resolve } from 'node:path';

const file = join(resolve(import.meta.dirname, '..'), 'icons/remote-printing-board.svg');

/** Icon of a browser tab: the icons of nodes are white, which a light tab does not show. */
export const pageIcon = () => readFileSync(file, 'utf8').replace('#fff', '#888');
