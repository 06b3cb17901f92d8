import { hold } from './hold';

hold('answers');
