import { hold } from './hold';

hold('watching');
