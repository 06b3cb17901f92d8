import { hold } from './hold';

hold('queue');
