import { hold } from './hold';

hold('shared');
