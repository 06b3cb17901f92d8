import { OFFERED_RANGES } from '../lib/rules/range-end';
import { combobox, type Choice } from './combobox';
import { typedText } from './fields';
import type { InputOptions, InputType } from './red';
import { lists } from './lists';
import { text } from './texts';

type TypeName = 'str' | 'msg' | 'flow' | 'global' | 'env' | 'jsonata' | 'json';
const VALUE_TYPES: TypeName[] = ['str', 'msg', 'flow', 'global', 'env', 'jsonata'];

/** Makes a TypedInput of `#<id>`; the label names the input that the user sees. */
export function typedInput(id: string, options: InputOptions): JQuery {
  const field = $(`#${id}`);
  field.typedInput(options);
  const shown = `${id}-shown`;
  field.next('.red-ui-typedInput-container').find('input.red-ui-typedInput-input').attr('id', shown);
  $(`label[for="${id}"]`).attr('for', shown);
  return field;
}

/** The pair `name` + `nameType` of a flow node; `types` of its own stand before those that all have. */
export function valueInput(name: string, types: (TypeName | InputType)[] = []): JQuery {
  const typeField = `#node-input-${name}Type`;
  const own = types.map((type) => (typeof type === 'string' ? type : type.value));
  const others = VALUE_TYPES.filter((type) => !own.includes(type));
  return typedInput(`node-input-${name}`, { types: [...types, ...others], typeField });
}

/** The same for an end of a range: a range word, offered while typing, or what else a value can be. */
export function rangeInput(name: string): JQuery {
  const autoComplete = (typed: string) => {
    const fitting = OFFERED_RANGES.filter((words) => words.includes(typed.toLowerCase()));
    return fitting.map((words) => ({ value: words, label: words }));
  };
  return valueInput(name, [{ value: 'relative', label: text('range'), icon: 'fa fa-calendar', autoComplete }]);
}

type Load = (account: string | undefined) => Promise<Choice[]> | undefined;

/** A value input that also offers what the account of the form has, by name. */
function listInput(name: string, { blank, load, follow, types = [] }: ListInput): void {
  const field = valueInput(name, [{ value: 'str', label: text('picker.byName'), icon: 'fa fa-list' }, ...types]);
  const note = $('<div role="status" class="remote-printing-note">').appendTo(field.closest('.form-row'));
  const box = combobox({
    input: $(`#node-input-${name}-shown`),
    note,
    blank,
    load: () => load(typedText('#node-input-account')),
    value: () => textIn(name),
    choose: (value) => field.typedInput('value', value),
  });
  const refresh = () => void box.refresh();
  field.on('change keyup', box.show);
  $('#node-input-account').add(follow).on('change', refresh);
  refresh();
}

interface ListInput {
  /** What an empty field means. */
  blank: string;
  load: Load;
  /** Fields that the list hangs on, beside the account. */
  follow: JQuery;
  types?: TypeName[];
}

/** The text of a TypedInput; undefined while it holds something else. */
function textIn(name: string): string | undefined {
  const field = $(`#node-input-${name}`);
  return field.typedInput('type') === 'str' ? field.typedInput('value') : undefined;
}

/** The printer of a flow node, from the clusters of the account that is chosen in the form. */
export const printerInput = (blank = text('picker.clusterOfMessage'), name = 'cluster'): void =>
  listInput(name, { blank, load: lists.clusters, follow: $() });

/** One of the printers of the cluster that is chosen in the form. */
export const memberInput = (blank: string): void =>
  listInput('printer', {
    blank,
    load: (account) => ofCluster((cluster) => lists.printersOf(account, cluster)),
    follow: $('#node-input-cluster'),
  });

/** A printing on the cluster that is chosen in the form. */
export const printJobInput = (blank: string): void =>
  listInput('job', {
    blank,
    load: (account) => ofCluster((cluster) => lists.printJobs(account, cluster)),
    follow: $('#node-input-cluster'),
  });

/** The item of a query: a printing, an uploaded print file, or what can't be listed. */
export const itemInput = (): void =>
  listInput('item', {
    blank: '',
    load(account) {
      switch (typedText('#node-input-query')) {
        case 'print-job':
          return ofCluster((cluster) => lists.printJobs(account, cluster));
        case 'stored-job':
          return lists.storedJobs(account);
        default:
          return undefined;
      }
    },
    follow: $('#node-input-query, #node-input-cluster'),
    types: ['json'],
  });

/** The ID of a file in the library: the service has a list of print files alone. */
export const fileInput = (blank: string): void =>
  listInput('fileId', {
    blank,
    load: (account) => (typedText('#node-input-kind') === 'job' ? lists.storedJobs(account) : undefined),
    follow: $('#node-input-kind'),
  });

const ofCluster = <T>(load: (cluster: string) => T): T | undefined => {
  const cluster = textIn('cluster');
  return cluster ? load(cluster) : undefined;
};
