import { OFFERED_RANGES } from '../lib/rules/range-end';
import { picker } from './picker';
import { typedText } from './fields';
import type { InputOptions, InputType } from './red';
import { accountList, type Choice } from './requests';
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
  return typedInput(`node-input-${name}`, { types: [...types, ...VALUE_TYPES], typeField });
}

/** The same for an end of a range: a range word, offered while typing, or what else a value can be. */
export function rangeInput(name: string): JQuery {
  const autoComplete = (typed: string) => {
    const fitting = OFFERED_RANGES.filter((words) => words.includes(typed.toLowerCase()));
    return fitting.map((words) => ({ value: words, label: words }));
  };
  return valueInput(name, [{ value: 'relative', label: text('range'), icon: 'fa fa-calendar', autoComplete }]);
}

interface ListedCluster {
  clusterId: string;
  name: string | null;
  model: string | null;
  online: boolean | null;
}

function clusterChoice({ clusterId, name, model, online }: ListedCluster): Choice {
  const state = online === null ? undefined : text(online ? 'picker.online' : 'picker.offline');
  const details = [model, state].filter(Boolean).join(', ');
  return { value: clusterId, label: (name || clusterId) + (details && ` (${details})`) };
}

/** The cluster input of a flow node and, below it, the clusters of the account that is chosen in the form. */
export function clusterInput(blank: string, name = 'cluster'): JQuery {
  const field = valueInput(name);
  const { row, select, note, again } = listRow();
  field.closest('.form-row').after(row);

  const clusters = picker({
    select,
    note,
    blank,
    load: () => accountList(typedText('#node-input-account'), '/clusters', clusterChoice),
    value: () => (field.typedInput('type') === 'str' ? field.typedInput('value') : undefined),
    choose(cluster) {
      field.typedInput('type', 'str');
      field.typedInput('value', cluster);
    },
  });
  const refresh = () => void clusters.refresh();
  field.on('change keyup', clusters.show);
  again.on('click', refresh);
  $('#node-input-account').on('change', refresh);
  refresh();
  return row;
}

function listRow() {
  const select = $('<select>', { id: 'node-input-cluster-choice' });
  const again = $('<button type="button" class="red-ui-button"><i class="fa fa-refresh"></i></button>')
    .attr({ id: 'node-input-cluster-refresh', 'aria-label': text('picker.refresh') })
    .css('margin-left', '10px');
  const note = $('<div role="status" class="remote-printing-note">');
  const label = $('<label for="node-input-cluster-choice">').append(
    $('<i class="fa fa-list"></i>'),
    ' ',
    $('<span>').text(text('picker.label')),
  );
  const control = $('<div style="display: inline-flex; width: 70%">').append(select.css('flex-grow', 1), again);
  const row = $('<div class="form-row">').append(label, ' ', control, note);
  return { row, select, note, again };
}
