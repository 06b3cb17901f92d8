import { closeAccountDialog, openAccountDialog } from './account-dialog';
import { amountInput } from './amount-input';
import { showWhile } from './fields';
import { fileInput, itemInput, memberInput, printerInput, printJobInput, rangeInput, valueInput } from './inputs';
import { useOnlyAccount } from './only-account';
import { addKeywords } from './palette-search';
import { printerName } from './printer-names';
import * as validators from './validators';

/** Functions that the pack's forms share. The HTML of every node loads this file; repeated loading has no effect. */
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
  openAccountDialog,
  closeAccountDialog,
  useOnlyAccount,
  addKeywords,
  printerName,
};

(window as { RemotePrinting?: typeof shared }).RemotePrinting ??= shared;
