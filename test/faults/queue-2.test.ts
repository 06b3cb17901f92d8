import { hold } from './hold';

hold('queue', { part: 2, of: 2 });
