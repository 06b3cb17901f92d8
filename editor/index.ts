import { closeAccountDialog, openAccountDialog } from './account-dialog';
import { amountInput } from './amount-input';
import { fillDefaults, showVariable, showWhile, showZero, valueOf } from './fields';
import { hoursInput } from './hours-input';
import {
  fileInput,
  itemInput,
  memberInput,
  printerInput,
  printJobInput,
  rangeInput,
  storedJobInput,
  valueInput,
} from './inputs';
import { chooseOnly, hideOnceChosen, keepOneParent, useOnly, useOnlyOf } from './only-parent';
import { addKeywords } from './palette-search';
import { pricesInput } from './prices-input';
import { printerName } from './printer-names';
import { printersInput, tagsInput } from './printers-input';
import { queueNote } from './queue-note';
import { tokenMaker } from './token-maker';
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
  storedJobInput,
  itemInput,
  fileInput,
  hoursInput,
  pricesInput,
  printersInput,
  tagsInput,
  queueNote,
  fillDefaults,
  showWhile,
  showZero,
  showVariable,
  valueOf,
  openAccountDialog,
  closeAccountDialog,
  useOnly,
  useOnlyOf,
  hideOnceChosen,
  keepOneParent,
  chooseOnly,
  addKeywords,
  printerName,
  tokenMaker,
};

(window as { RemotePrinting?: typeof shared }).RemotePrinting ??= shared;
