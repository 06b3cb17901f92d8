import { hold } from './hold';

hold('plates');
