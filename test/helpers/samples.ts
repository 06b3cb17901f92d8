import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { root } from './sources';

const beside = resolve(root, '../shared/samples');

/** Folder of real G-code files: REMOTE_PRINTING_SAMPLES, or a folder beside the checkout; '' if there is none. */
export const samples = process.env.REMOTE_PRINTING_SAMPLES ?? (existsSync(beside) ? beside : '');
