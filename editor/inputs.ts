import { FORM_JOBS } from '../lib/rules/limits';
import { OFFERED_RANGES } from '../lib/rules/ranges';
import { combobox, type Choice } from './combobox';
import { typedText } from './fields';
import type { InputOptions, InputType } from './red';
import { lists } from './lists';
import { text } from './texts';

type TypeName = 'str' | 'num' | 'msg' | 'flow' | 'global' | 'env' | 'jsonata' | 'json';
const VALUE_TYPES: TypeName[] = ['str', 'msg', 'flow', 'global', 'env', 'jsonata'];

/** Turns `#<id>` into a TypedInput, and points its label at the visible input. */
export function typedInput(id: string, options: InputOptions): JQuery {
  const field = $(`#${id}`);
  field.typedInput(options);
  const shown = `${id}-shown`;
  const container = field.next('.red-ui-typedInput-container');
  container.find('input.red-ui-typedInput-input').attr('id', shown);
  container.find('.red-ui-typedInput-option-expand').attr('aria-label', text('picker.expand'));
  $(`label[for="${id}"]`).attr('for', shown);
  return field;
}

/** TypedInput for the pair `name` + `nameType` of a flow node; its own `types` precede the common ones. */
export function valueInput(name: string, types: (TypeName | InputType)[] = []): JQuery {
  const typeField = `#node-input-${name}Type`;
  const own = types.map((type) => (typeof type === 'string' ? type : type.value));
  const others = VALUE_TYPES.filter((type) => !own.includes(type));
  return typedInput(`node-input-${name}`, { types: [...types, ...others], typeField });
}

/** TypedInput for an end of a range; suggests range words. */
export function rangeInput(name: string): JQuery {
  const autoComplete = (typed: string) => {
    const fitting = OFFERED_RANGES.filter((words) => words.includes(typed.toLowerCase()));
    return fitting.map((words) => ({ value: words, label: words }));
  };
  return valueInput(name, [{ value: 'relative', label: text('range'), icon: 'fa fa-calendar', autoComplete }]);
}

/** Loads a list; `search` only if the list without it has `most` choices. */
type Load = (account: string | undefined, search: string) => Promise<Choice[]> | undefined;

/** TypedInput that also suggests items of the selected account by name. */
function listInput(name: string, { blank, load, follow, most, types = [] }: ListInput): void {
  const field = valueInput(name, [{ value: 'str', label: text('picker.byName'), icon: 'fa fa-list' }, ...types]);
  const note = $('<div role="status" class="remote-printing-note">').appendTo(field.closest('.form-row'));
  const box = combobox({
    input: $(`#node-input-${name}-shown`),
    note,
    blank,
    load: (search) => load(typedText('#node-input-account'), search),
    most,
    value: () => textIn(name),
    choose: (value) => field.typedInput('value', value),
  });
  const refresh = () => void box.refresh();
  field.on('change keyup', box.show);
  $('#node-input-account').add(follow).on('change', refresh);
  refresh();
}

interface ListInput {
  /** Meaning of an empty field. */
  blank: string;
  load: Load;
  /** Fields besides the account that the list depends on. */
  follow: JQuery;
  /** Length of a list that may go on. */
  most?: number;
  types?: TypeName[];
}

/** Text of a TypedInput; undefined while another type is selected. */
function textIn(name: string): string | undefined {
  const field = $(`#node-input-${name}`);
  return field.typedInput('type') === 'str' ? field.typedInput('value') : undefined;
}

/** Input for the printer of a flow node, from the clusters of the selected account. */
export const printerInput = (name: string, blank = text('picker.clusterOfMessage')): void =>
  listInput(name, { blank, load: lists.clusters, follow: $() });

/** Input for one of the printers of the selected cluster. */
export const memberInput = (name: string, blank: string): void =>
  listInput(name, {
    blank,
    load: (account) => ofCluster((cluster) => lists.printersOf(account, cluster)),
    follow: $('#node-input-cluster'),
  });

/** Input for a print job on the selected cluster. */
export const printJobInput = (name: string, blank: string): void =>
  listInput(name, {
    blank,
    load: (account) => ofCluster((cluster) => lists.printJobs(account, cluster)),
    follow: $('#node-input-cluster'),
  });

/** Input for an uploaded print file. */
export const storedJobInput = (name: string, blank: string): void =>
  listInput(name, {
    blank,
    load: (account, search) => lists.storedJobs(account, search),
    follow: $(),
    most: FORM_JOBS,
  });

/** Input for the item of a query: a print job, an uploaded print file, or an item without a list. */
export const itemInput = (name: string): void =>
  listInput(name, {
    blank: '',
    load(account, search) {
      switch (typedText('#node-input-query')) {
        case 'print-job':
          return ofCluster((cluster) => lists.printJobs(account, cluster));
        case 'preview':
          return ofCluster((cluster) => lists.printJobs(account, cluster)) ?? lists.storedJobs(account, search);
        case 'stored-job':
          return lists.storedJobs(account, search);
        default:
          return undefined;
      }
    },
    follow: $('#node-input-query, #node-input-cluster'),
    most: FORM_JOBS,
    types: ['json'],
  });

/** Input for the ID of a library file; the service lists print files only. */
export const fileInput = (name: string, blank: string): void =>
  listInput(name, {
    blank,
    load: (account, search) =>
      typedText('#node-input-kind') === 'job' ? lists.storedJobs(account, search) : undefined,
    follow: $('#node-input-kind'),
    most: FORM_JOBS,
  });

const ofCluster = <T>(load: (cluster: string) => T): T | undefined => {
  const cluster = textIn('cluster');
  return cluster ? load(cluster) : undefined;
};
