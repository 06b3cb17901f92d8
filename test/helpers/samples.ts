import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { root } from './sources';

const beside = resolve(root, '../shared/samples');

/** A folder of real G-code files: of REMOTE_PRINTING_SAMPLES, or one that lies beside the checkout; '' where there is none. */
export const samples = process.env.REMOTE_PRINTING_SAMPLES ?? (existsSync(beside) ? beside : '');
