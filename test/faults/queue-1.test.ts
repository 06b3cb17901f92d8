import { hold } from './hold';

hold('queue', { part: 1, of: 2 });
