import type { Red } from './red';

declare const RED: Red;

const CATALOGUE = '@remote-printing/node-red-remote-printing/remote-printing-account:';

/** Text of the account's catalogue, which contains the texts that the forms share. */
export const text = (key: string, values?: Record<string, string | number>): string => RED._(CATALOGUE + key, values);
