import { TEXT } from '../rules/limits';
import { shown } from '../words/shown';

/** Media types of the text formats. Both are UTF-8. */
export const FORMATS = {
  prometheus: 'text/plain; version=0.0.4',
  openmetrics: 'application/openmetrics-text; version=1.0.0',
} as const;

export type TextFormat = keyof typeof FORMATS;

export interface Family {
  /** Without the prefix; the name of a counter ends in `_total`. */
  name: string;
  type: 'counter' | 'gauge' | 'histogram';
  /** One sentence, without line breaks, quotation marks and backslashes. */
  help: string;
}

const PREFIX = 'remote_printing_';

/** The lines before the samples of a family. OpenMetrics names a counter without its suffix there. */
export function headerOf({ name, type, help }: Family, format: TextFormat): string {
  const full = PREFIX + (format === 'openmetrics' ? name.replace(/_total$/, '') : name);
  return `# HELP ${full} ${help}\n# TYPE ${full} ${type}\n`;
}

/** The line of one sample; `labels` without braces. */
export const sampleOf = (name: string, labels: string, value: number): string =>
  `${PREFIX}${name}{${labels}} ${value}\n`;

/** A sample for each state: 1 for the present one, 0 for the others. */
export function oneHot(name: string, labels: string, states: readonly string[], present: number): string {
  let samples = '';
  for (let at = 0; at < states.length; at++)
    samples += sampleOf(name, `${labels},state="${states[at]}"`, at === present ? 1 : 0);
  return samples;
}

/** A label with its value on one line, escaped and of limited length. */
export const labelOf = (name: string, value: string): string =>
  `${name}="${shown(value, TEXT.quoted).replace(/[\\"]/g, '\\$&')}"`;

/** The line after all families. */
export const endOf = (format: TextFormat): string => (format === 'openmetrics' ? '# EOF\n' : '');
