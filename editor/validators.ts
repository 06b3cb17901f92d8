import { type Condition, holds } from '../lib/rules/conditions';
import { isFilePath, readAmount, variableOf } from '../lib/rules/text';
import { hostFault, isOrigin, isRedirectUri } from '../lib/rules/addresses';
import { parseHours } from '../lib/rules/hours';
import { readWebPath, readHostNames } from '../lib/rules/web';
import { readMilestones } from '../lib/rules/limits';
import { readTopicPrefix } from '../lib/rules/topics';
import { readRangeEnd } from '../lib/rules/ranges';
import { type PathFault, readPathOverrides, readStoragePath } from '../lib/rules/paths';
import { readPriceList, readPrinterIds, readTags } from '../lib/rules/queue-settings';
import { setting, valueOf } from './fields';
import type { EditorNode, Red } from './red';
import { text } from './texts';

declare const RED: Red;

/**
 * A validation rule of the editor: returns true or the reason. Node-RED shows the reason as HTML, and the value may
 * come from an imported flow. So a reason contains only the pack's own words, never the value's or a parser's.
 */
export type Validator = (this: EditorNode, value: unknown, options: object) => true | string;

/** Creates a rule. It has two parameters, since Node-RED ignores the reasons of others. */
const rule = (name: string, fault: (node: EditorNode, value: unknown) => string | null): Validator =>
  function (value, _options) {
    const given = value ?? valueOf(this, name);
    // The runtime replaces the name of an environment variable, or says that it is not set.
    const reason = variableOf(given) === null ? fault(this, given) : null;
    if (reason === null) return true;
    // Label of this form, else the shared one.
    const label = this._(`label.${name}`, { defaultValue: text(`label.${name}`) });
    return `${label}: ${reason}`;
  };

/** Creates a rule of the account. None applies to the simulator, which has its own settings. */
const accountRule = (name: string, fault: (node: EditorNode, value: unknown) => string | null): Validator =>
  rule(name, (node, value) => (setting(node, 'service') === 'simulator' ? null : fault(node, value)));

/** The rule of a row that the form shows only while one of the conditions holds: nobody could correct a hidden value. */
export const shownWhile = (conditions: Condition | readonly Condition[], inner: Validator): Validator =>
  function (value, options) {
    return !holds(conditions, (name) => setting(this, name)) || inner.call(this, value, options);
  };

/** Property as text: a form saves text, but a flow may contain any value. */
function asText(value: unknown): string {
  if (value === undefined || value === null) return '';
  return typeof value === 'string' ? value : JSON.stringify(value);
}

const isBlank = (value: unknown): boolean => asText(value).trim() === '';

/** Types whose empty text is no value; an empty field reads a property of the message. */
const BLANKABLE = ['json', 'num'];

/** Types whose value is the expression of a property. */
const PROPERTIES = ['msg', 'flow', 'global'];

/** A TypedInput whose type is in the property `<name>Type`. */
export const typed = (name: string): Validator =>
  rule(name, (node, value) => {
    const type = String(setting(node, `${name}Type`));
    if (isBlank(value) && BLANKABLE.includes(type)) return null;
    if (PROPERTIES.includes(type) && isFilePath(asText(value))) return text('invalid.filePath');
    const verdict = RED.validators.typedInput(`${name}Type`).call(node, asText(value), {});
    return verdict === true ? null : text('invalid.typed');
  });

/** A positive number, and at least `least` if given, which may be 0; blank means the default. */
export const number = (name: string, least?: number): Validator =>
  rule(name, (_node, value) => {
    const amount = readAmount(value, least);
    if (isBlank(value) || (amount !== null && amount >= (least ?? 0))) return null;
    return least === undefined ? text('invalid.amount') : text('invalid.number', { least });
  });

/** One end of a report's range (reference 3.5). */
export const range = (name: string): Validator => {
  const byType = typed(name);
  return function (value, options) {
    const type = setting(this, `${name}Type`);
    if (type !== 'relative' && type !== 'str') return byType.call(this, value, options);
    return words.call(this, value, options);
  };
  function words(this: EditorNode, value: unknown, options: object): true | string {
    const isRange = isBlank(value) || readRangeEnd(asText(value)) !== null;
    return rule(name, () => (isRange ? null : text('invalid.range'))).call(this, value, options);
  }
};

export const milestones = (): Validator =>
  rule('milestones', (_node, value) => (readMilestones(asText(value)) === null ? text('invalid.milestones') : null));

/** The first part of MQTT topics. */
export const topicPrefix = (name: string): Validator =>
  rule(name, (_node, value) => (readTopicPrefix(asText(value)) === null ? text('invalid.topicPrefix') : null));

/** Path and host names of a node that answers requests of browsers and other programs. */
export const webPath = (): Validator =>
  rule('path', (_node, value) => (readWebPath(asText(value)) === null ? text('invalid.webPath') : null));
export const webHosts = (): Validator =>
  rule('hosts', (_node, value) => (readHostNames(asText(value)) === null ? text('invalid.hosts') : null));

/** A link to a configuration node that another link may replace: exactly one of them is needed. */
export const eitherParent = (name: string, other: string): Validator =>
  rule(name, (node, value) => {
    const isChosen = (id: unknown) => !isBlank(id) && id !== '_ADD_';
    if (!isChosen(value)) return isChosen(setting(node, other)) ? null : text('invalid.eitherParent');
    // The editor checks the linked node itself only where there is no rule.
    const linked = RED.nodes.node(asText(value)) as EditorNode | null;
    return linked && linked.valid !== false ? null : text('invalid.parent');
  });

/** Weekly hours of a queue (reference 2.2). */
export const hours = (name: string): Validator =>
  rule(name, (_node, value) => ('wrong' in parseHours(asText(value)) ? text('invalid.hours') : null));

export const printers = (): Validator =>
  rule('printers', (_node, value) => (readPrinterIds(value) === null ? text('invalid.printers') : null));

export const tags = (): Validator =>
  rule('tags', (_node, value) => (readTags(value) === null ? text('invalid.tags') : null));

export const prices = (): Validator =>
  rule('prices', (_node, value) => (readPriceList(value) === null ? text('invalid.prices') : null));

/** A host of the service; a static token requires no account host. */
export const host = (name: string): Validator =>
  accountRule(name, (node, value) => {
    switch (hostFault(value)) {
      case 'missing':
        return name === 'authUrl' && setting(node, 'signIn') === 'token' ? null : text('invalid.missing');
      case 'unsafe':
        return text('invalid.host');
      case 'more':
        return text('invalid.hostOnly');
      case null:
        return null;
    }
  });

export const redirectUri = (): Validator =>
  accountRule('redirectUri', (_node, value) => (isBlank(value) || isRedirectUri(value) ? null : text('invalid.url')));

export const origin = (): Validator =>
  accountRule('origin', (_node, value) => (isBlank(value) || isOrigin(value) ? null : text('invalid.origin')));

export const storagePath = (): Validator =>
  accountRule('storagePath', (_node, value) => (readStoragePath(value) === null ? text('invalid.storagePath') : null));

/** The account's `paths` (reference 7). */
export const paths = (): Validator =>
  accountRule('paths', (_node, value) => {
    const read = readPathOverrides(value);
    return 'fault' in read ? pathReason(read.fault) : null;
  });

export function pathReason(fault: PathFault): string {
  switch (fault.kind) {
    case 'json':
    case 'object':
      return text('invalid.paths');
    case 'name':
      return text('invalid.pathName');
    default:
      // The name is one of the known names, never user input.
      return text('invalid.path', { name: fault.name });
  }
}
