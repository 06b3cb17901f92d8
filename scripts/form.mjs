// The html files of the nodes: each form, and a literal registerType, which is all that the Flow Library can read.
import { readNodes } from './nodes.mjs';

/** @typedef {import('./nodes.mjs').NodeSources} NodeSources */
/** @typedef {import('../nodes/shared/definition.js').NodeDefinition} NodeDefinition */
/** @typedef {import('../nodes/shared/definition.js').Property} Property */
/** @typedef {Extract<Property, { kind: 'typed' }>} Typed */
/**
 * Texts that a form can use: the node's own, and the account's.
 * @typedef {{ has: (key: string) => boolean, key: (key: string) => string }} Texts `key` adds the prefix of the account's
 */

const PACK = '@remote-printing/node-red-remote-printing';
const ACCOUNT = 'remote-printing-account';
const WIDE = 'style="width: calc(100% - 130px)"';
const NARROW = 'style="width: 90px"';
/** Of the nodes: one that no node of Node-RED has, and on which label and icon are legible in light and dark themes. */
export const COLOR = '#A68FE6';
const PARENT_ICONS = { account: 'user', queue: 'list-ol' };

/** HTML files by node type. @returns {Map<string, string>} */
export function forms(nodes = readNodes()) {
  const shared = nodes.find(({ type }) => type === ACCOUNT)?.texts ?? {};
  return new Map(
    nodes.map((node) => {
      const texts = textsOf(node, shared);
      const form = node.template ?? template(node, texts);
      const script = block('<script type="text/javascript">', [registration(node, texts)], '</script>');
      return [node.type, `<script src="resources/${PACK}/remote-printing-editor.js"></script>\n\n${form}\n${script}\n`];
    }),
  );
}

/** @param {NodeSources} node @param {object} shared @returns {Texts} */
function textsOf({ type, texts }, shared) {
  const has = (/** @type {string} */ key) => key in texts || key in shared;
  const key = (/** @type {string} */ key) => {
    if (!has(key)) throw new Error(`${type} has no text '${key}'`);
    return key in texts ? key : `${PACK}/${ACCOUNT}:${key}`;
  };
  return { has, key };
}

/** @param {string} text */
const indented = (text) => text.replace(/^(?=.)/gm, '  ');
/** @param {string} first @param {string[]} inner @param {string} last */
const block = (first, inner, last) => [first, ...inner.map(indented), last].join('\n');

/** @param {NodeSources} node @param {Texts} texts */
function template({ type, definition }, texts) {
  const { parent, alternative, properties, credentials } = definition;
  const form = formOf(definition, texts);
  const name = `<input type="text" ${WIDE} id="${form.id('name')}" ${said(texts, 'label.name', '[placeholder]')} />`;
  const rows = [
    block('<div class="form-row">', [label(form, 'name', 'tag'), name], '</div>'),
    ...(alternative ? [parentRow(form, alternative)] : []),
    ...(parent === null ? [] : [parentRow(form, parent)]),
    ...groups(form, Object.entries(properties)),
    ...Object.entries(credentials ?? {}).map(([key, kind]) => credentialRow(form, key, kind)),
  ];
  const whole = block('<div class="remote-printing-node-form">', rows, '</div>');
  return `${block(`<script type="text/html" data-template-name="${type}">`, [whole], '</script>')}\n`;
}

/**
 * What the rows of a form have in common.
 * @typedef {{ texts: Texts, id: (property: string) => string }} Form `id` of a property's field
 * @param {NodeDefinition} definition @param {Texts} texts @returns {Form}
 */
const formOf = ({ outputs }, texts) => ({
  texts,
  id: (property) => `${outputs ? 'node-input' : 'node-config-input'}-${property}`,
});

/** @param {Form} form @param {NonNullable<NodeDefinition['parent']>} parent */
function parentRow(form, parent) {
  const field = `<input type="text" ${WIDE} id="${form.id(parent)}" />`;
  return block('<div class="form-row">', [label(form, parent, PARENT_ICONS[parent]), field], '</div>');
}

/** @param {Form} form @param {string} name @param {'text' | 'password'} kind */
function credentialRow(form, name, kind) {
  const { texts } = form;
  const hint = texts.has(`placeholder.${name}`) ? ` ${said(texts, `placeholder.${name}`, '[placeholder]')}` : '';
  const field = `<input type="${kind}" ${WIDE} id="${form.id(name)}"${hint} />`;
  const tip = texts.has(`tip.${name}`)
    ? [`<div class="remote-printing-note" ${said(texts, `tip.${name}`)}></div>`]
    : [];
  return block('<div class="form-row">', [label(form, name, 'key'), field, ...tip], '</div>');
}

/** The rows, with those of a group in one element. @param {Form} form @param {[string, Property][]} properties */
function groups(form, properties) {
  /** @type {{ group: string | undefined, rows: string[] }[]} */
  const parts = [{ group: undefined, rows: [] }];
  for (const [name, property] of properties) {
    if (property.group) parts.push({ group: property.group, rows: [] });
    parts.at(-1)?.rows.push(row(form, name, property));
  }
  return parts.flatMap(({ group, rows }) => {
    if (group === undefined) return rows;
    const { texts } = form;
    const head = `<legend ${said(texts, `group.${group}`)}></legend>`;
    const tip = `<p ${said(texts, `groupTip.${group}`)}></p>`;
    return [block('<fieldset class="remote-printing-group">', [head, tip, ...rows], '</fieldset>')];
  });
}

/** Attribute with the key of a text. @param {Texts} texts @param {string} key @param {string} [attribute] */
const said = (texts, key, attribute = '') => `data-i18n="${attribute}${texts.key(key)}"`;

/** @param {Form} form @param {string} name @param {string} [icon] @param {Property} [property] */
function label({ texts, id }, name, icon, property) {
  const variants = property?.kind === 'typed' ? property.variants : undefined;
  const words = variants?.labels
    ? variantsOf(texts, variants.by, variants.labels).join(' ')
    : `<span ${said(texts, `label.${name}`)}></span>`;
  return `<label for="${id(name)}"><i class="fa fa-${icon}" aria-hidden="true"></i> ${words}</label>`;
}

/** @param {Texts} texts @param {string} by @param {Readonly<Record<string, string>>} keys */
const variantsOf = (texts, by, keys) =>
  Object.entries(keys).map(([value, key]) => `<span data-${by}="${value}" ${said(texts, key)}></span>`);

/** @param {string} name */
const rowId = (name) => `remote-printing-${name}-row`;

/** @param {Form} form @param {string} name @param {Property} property */
function row(form, name, property) {
  const id = isFollowed(property) ? ` id="${rowId(name)}"` : '';
  const isCheckbox = property.kind === 'checkbox';
  const first = isCheckbox ? '<label></label>' : label(form, name, property.icon, property);
  return block(`<div class="form-row"${id}>`, [first, ...field(form, name, property)], '</div>');
}

/** The field of a row and the elements after it. @param {Form} form @param {string} name @param {Property} property */
function field({ texts, id: idOf }, name, property) {
  const id = `id="${idOf(name)}"`;
  const hint = texts.has(`placeholder.${name}`) ? ` ${said(texts, `placeholder.${name}`, '[placeholder]')}` : '';
  const unit = 'unit' in property && property.unit ? [`<span ${said(texts, property.unit)}></span>`] : [];
  switch (property.kind) {
    case 'text':
      return [`<input type="text" ${unit.length > 0 ? NARROW : WIDE} ${id}${hint} />`, ...unit];
    case 'amount':
      return [`<input type="number" min="${property.least ?? 1}" ${NARROW} ${id} />`, ...unit];
    case 'select':
      return [
        block(`<select ${id} ${WIDE}>`, options(texts, name, property.options), '</select>'),
        ...tips(texts, tipsOf(name, property)),
      ];
    case 'checkbox':
      return [
        `<input type="checkbox" style="width: auto; margin-top: 0" ${id} />`,
        `<label for="${idOf(name)}" style="width: auto" ${said(texts, `label.${name}`)}></label>`,
      ];
    case 'typed':
      return [
        `<input type="text" ${WIDE} ${id}${isList(property) ? '' : hint} />`,
        `<input type="hidden" id="${idOf(`${name}Type`)}" />`,
        ...tips(texts, tipsOf(name, property)),
      ];
  }
}

/** @param {Texts} texts @param {string} name @param {readonly string[]} values */
const options = (texts, name, values) =>
  values.map((value) => {
    const key = `${name}.${value.replace(/^msg\..*/, 'message')}`;
    const [attribute, words] = texts.has(key) ? [` ${said(texts, key)}`, ''] : ['', value];
    return `<option value="${value}"${attribute}>${words}</option>`;
  });

/** Tips of a row, each for one value of the property `by`. @param {string} name @param {Property} property */
function tipsOf(name, property) {
  if (property.kind === 'select' && property.tips) return { by: name, tips: property.tips };
  return property.kind === 'typed' ? property.variants : undefined;
}

/** @param {Texts} texts @param {ReturnType<typeof tipsOf>} variants */
const tips = (texts, variants) =>
  variants
    ? [
        block(
          '<div class="form-tips" style="max-width: none; margin-top: 8px; box-sizing: border-box">',
          variantsOf(texts, variants.by, variants.tips),
          '</div>',
        ),
      ]
    : [];

/** Whether scripts show and hide the row, or parts of it. @param {Property} property */
const isFollowed = (property) =>
  property.when !== undefined || (property.kind === 'select' && property.tips !== undefined);

/** Whether the field suggests items of the account. @param {Typed} property */
const isList = ({ input }) => input !== undefined && input !== 'range';

/** Whether the default type is one that other fields don't offer. @param {Typed} property */
const isOwnType = ({ defaultType }) => defaultType === 'num' || defaultType === 'json';

/** The call that registers a node in the editor. @param {NodeSources} node @param {Texts} texts */
function registration({ type, definition, form }, texts) {
  const { outputs, parent, alternative, properties, credentials } = definition;
  const entries = Object.entries(properties);
  const defaults = [
    "name: { value: '' }",
    ...(parent === null ? [] : [link(parent, alternative)]),
    ...(alternative && parent ? [link(alternative, parent)] : []),
    ...entries.flatMap((entry) => saved(...entry)),
  ];
  const kinds = Object.entries(credentials ?? {}).map(([name, kind]) => `${name}: { type: '${kind}' }`);
  const members = [
    `category: '${outputs ? 'remote printing' : 'config'}'`,
    `color: '${COLOR}'`,
    ...(outputs ? [`icon: '${type}.svg'`, 'inputs: 1', `outputs: ${outputs.length}`] : []),
    block('defaults: {', [defaults.map((line) => `${line},`).join('\n')], '}'),
    ...(credentials ? [block('credentials: {', [kinds.map((line) => `${line},`).join('\n')], '}')] : []),
    method('paletteLabel', "return this._('paletteLabel');"),
    ...(outputs ? flowMembers(type, outputs, texts) : []),
    ...(outputs && parent ? [method('onadd', preselection(parent, alternative))] : []),
    ...('oneditprepare' in form ? [] : [method('oneditprepare', preparations(definition, texts).join('\n'))]),
    ...Object.entries(form).map(([name, code]) => `${name}: function ${dedented(String(code)).slice(name.length)}`),
  ];
  return block(`RED.nodes.registerType('${type}', {`, [members.map((member) => `${member},`).join('\n')], '});');
}

/** Saved link to a configuration node. @param {string} kind @param {string} [other] the one that may take its place */
const link = (kind, other) =>
  other
    ? `${kind}: { value: '', type: 'remote-printing-${kind}', validate: RemotePrinting.validators.eitherParent('${kind}', '${other}') }`
    : `${kind}: { value: '', type: 'remote-printing-${kind}', required: true }`;

/** @param {string} parent @param {string} [alternative] */
const preselection = (parent, alternative) =>
  alternative
    ? `RemotePrinting.useOnlyOf(['${alternative}', '${parent}'], this);`
    : `RemotePrinting.useOnly('${parent}', this);`;

/** @param {string} type @param {readonly string[]} outputs @param {Texts} texts */
function flowMembers(type, outputs, texts) {
  const ports = outputs.map((name) => `this._('${texts.key(`port.${name}`)}')`);
  const port = ports.map((words, at) => (at < ports.length - 1 ? `index === ${at} ? ${words}` : words)).join(' : ');
  return [
    method('onpaletteadd', `RemotePrinting.addKeywords('${type}', this._('${texts.key('keywords')}'));`),
    method('labelStyle', "return this.name ? 'node_label_italic' : '';"),
    method('inputLabels', `return this._('${texts.key('port.input')}');`),
    method('outputLabels', `return ${port};`, ports.length > 1 ? 'index' : ''),
  ];
}

/** Calls that prepare an opened form. @param {NodeDefinition} definition @param {Texts} texts */
function preparations({ outputs, parent, alternative, properties, maker }, texts) {
  const entries = Object.entries(properties);
  return [
    'RemotePrinting.fillDefaults(this);',
    // The editor calls `onadd` for flow nodes only.
    ...(!outputs && parent ? [`RemotePrinting.chooseOnly('${parent}', this);`] : []),
    ...(parent === 'queue' || alternative === 'queue' ? ['RemotePrinting.queueNote();'] : []),
    ...(alternative ? [`RemotePrinting.hideOnceChosen('${parent}', '${alternative}');`] : []),
    ...entries.flatMap((one) => prepared(texts, ...one)),
    ...entries.flatMap((one) => shown(...one)),
    ...(maker ? [`RemotePrinting.tokenMaker('${maker}');`] : []),
  ];
}

/** @param {string} name @param {string} body @param {string} [parameter] */
const method = (name, body, parameter = '') => block(`${name}: function (${parameter}) {`, [body], '}');

/** Code of a function, without the indentation of its module. @param {string} code */
const dedented = (code) => code.replace(/^ {2}/gm, '');

/** Saved properties, with their defaults and rules. @param {string} name @param {Property} property */
function saved(name, property) {
  const rule = ruleOf(name, property);
  const validate = rule ? `, validate: ${rule}` : '';
  const required = property.kind === 'select' ? ', required: true' : '';
  const value = `${name}: { value: ${literal(property.default)}${validate}${required} }`;
  return property.kind === 'typed' ? [value, `${name}Type: { value: '${property.defaultType ?? 'str'}' }`] : [value];
}

/** Rule of a property, which holds while its row is shown. @param {string} name @param {Property} property */
function ruleOf(name, property) {
  const call = callOf(name, property);
  if (!call) return undefined;
  const rule = `RemotePrinting.validators.${call}`;
  return property.when ? `RemotePrinting.validators.shownWhile(${literal(property.when)}, ${rule})` : rule;
}

/** Call of editor/validators.ts. @param {string} name @param {Property} property */
function callOf(name, property) {
  switch (property.kind) {
    case 'text':
      return property.validate;
    case 'typed':
      return `${property.input === 'range' ? 'range' : 'typed'}('${name}')`;
    case 'amount':
      return `number('${name}'${property.least === undefined ? '' : `, ${property.least}`})`;
    default:
      return undefined;
  }
}

/** Calls that prepare a field. @param {Texts} texts @param {string} name @param {Property} property */
function prepared(texts, name, property) {
  if (property.kind === 'amount') {
    const least = property.least === undefined ? '' : `, ${property.least}`;
    return [
      `RemotePrinting.showVariable(this, '${name}');`,
      ...(property.default === 0 ? [`RemotePrinting.showZero(this, '${name}');`] : []),
      ...(property.per ? [`RemotePrinting.amountInput('${name}', ${property.per}${least});`] : []),
    ];
  }
  if (property.kind === 'checkbox') return [`RemotePrinting.showVariable(this, '${name}');`];
  if (property.kind === 'text' && property.input) return [`RemotePrinting.${property.input}Input('${name}', this);`];
  if (property.kind !== 'typed') return [];
  const key = property.placeholder ?? `placeholder.${name}`;
  const blank = isList(property) && texts.has(key) ? `, this._('${texts.key(key)}')` : '';
  const own = property.input === undefined && isOwnType(property) ? `, ['${property.defaultType}']` : blank;
  return [`RemotePrinting.${property.input ?? 'value'}Input('${name}'${own});`];
}

/** Calls that show and hide a row and its variants. @param {string} name @param {Property} property */
function shown(name, property) {
  const call = (/** @type {unknown} */ conditions, /** @type {string} */ rows) =>
    `RemotePrinting.showWhile(${literal(conditions)}, '${rows}');`;
  const { by = '', tips = {} } = tipsOf(name, property) ?? {};
  return [
    ...(property.when ? [call(property.when, `#${rowId(name)}`)] : []),
    ...Object.keys(tips).map((value) => call({ [by]: value }, `#${rowId(name)} [data-${by}="${value}"]`)),
  ];
}

/** JavaScript for plain data. @param {unknown} value @returns {string} */
function literal(value) {
  if (typeof value === 'string') return `'${value.replace(/[\\']/g, '\\$&')}'`;
  if (Array.isArray(value)) return `[${value.map(literal).join(', ')}]`;
  if (typeof value !== 'object' || value === null) return String(value);
  return `{ ${Object.entries(value)
    .map(([key, inner]) => `${key}: ${literal(inner)}`)
    .join(', ')} }`;
}
