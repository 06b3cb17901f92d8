import { hold } from './hold';

hold('sign-in');
