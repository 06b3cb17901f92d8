import { hold } from './hold';

hold('parts');
