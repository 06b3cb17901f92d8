import { hold } from './hold';

hold('flows');
