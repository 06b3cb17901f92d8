import { hold } from './hold';

hold('prints');
