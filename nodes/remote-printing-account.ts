import type { Node, NodeAPI } from 'node-red';
import type { AccountNode } from './shared/account-link';
import { addAdminEndpoints } from './shared/admin';
import type { Credentials, Definition } from './types/account';

module.exports = (RED: NodeAPI): void => {
  addAdminEndpoints(RED);

  RED.nodes.registerType<AccountNode & Node<Credentials>, Definition, object, Credentials>(
    'remote-printing-account',
    function (definition) {
      // Loads the implementation with the first node of the type, so that unused types cost nothing.
      const { Account } = require('./types/account') as typeof import('./types/account');
      Account.call(this, RED, definition);
    },
    {
      credentials: { clientId: { type: 'text' }, clientSecret: { type: 'password' }, apiToken: { type: 'password' } },
    },
  );
};
