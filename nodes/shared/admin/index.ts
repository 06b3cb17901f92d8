import type { NodeAPI } from 'node-red';
import { addAccountEndpoints } from './account';
import { addSignInEndpoints } from './sign-in';

/** The endpoints of reference 5, under the editor's admin root. Registered once, whatever accounts there are. */
export function addAdminEndpoints(RED: NodeAPI): void {
  addAccountEndpoints(RED);
  addSignInEndpoints(RED);
}
