import { accountDialog } from './account-dialog';
import { amountInput } from './amount-input';
import { showWhile } from './fields';
import { fileInput, itemInput, memberInput, printerInput, printJobInput, rangeInput, valueInput } from './inputs';
import { useOnlyAccount } from './only-account';
import { addKeywords } from './palette-search';
import { printerName } from './printer-names';
import * as validators from './validators';

/** What the forms of this pack share. Every node's html loads this file; loading it again changes nothing. */
const shared = {
  validators,
  valueInput,
  amountInput,
  rangeInput,
  printerInput,
  memberInput,
  printJobInput,
  itemInput,
  fileInput,
  showWhile,
  accountDialog,
  useOnlyAccount,
  addKeywords,
  printerName,
};

(window as { RemotePrinting?: typeof shared }).RemotePrinting ??= shared;
