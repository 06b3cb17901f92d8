import { hold } from './hold';

hold('renewals');
