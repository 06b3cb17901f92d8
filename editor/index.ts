import { accountDialog } from './account-dialog';
import { showWhile } from './fields';
import { clusterInput, rangeInput, valueInput } from './inputs';
import * as validators from './validators';

/** What the forms of this pack share. Every node's html loads this file; loading it again changes nothing. */
const shared = { validators, valueInput, rangeInput, clusterInput, showWhile, accountDialog };

(window as { RemotePrinting?: typeof shared }).RemotePrinting ??= shared;
