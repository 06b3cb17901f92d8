import type { Red } from './red';

declare const RED: Red;

const CATALOGUE = '@remote-printing/node-red-remote-printing/remote-printing-account:';

/** A text of the account's catalogue, which holds what the forms share. */
export const text = (key: string, values?: Record<string, string | number>): string => RED._(CATALOGUE + key, values);
