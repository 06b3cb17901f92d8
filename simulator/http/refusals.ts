import { randomUUID } from 'node:crypto';
import { escapeHtml } from './html';

export interface RefusalDetails {
  detail?: string;
  meta?: Record<string, unknown>;
  headers?: Record<string, string>;
}

/** An error of the service. The endpoint's `ErrorStyle` determines its format. */
export class Refusal extends Error {
  readonly detail: string | undefined;
  readonly meta: Record<string, unknown> | undefined;
  readonly headers: Record<string, string>;

  constructor(
    readonly status: number,
    readonly code: string,
    readonly title: string,
    details: RefusalDetails = {},
  ) {
    super(title);
    this.detail = details.detail;
    this.meta = details.meta;
    this.headers = details.headers ?? {};
  }
}

/** `json`: API and account (wire facts 1.1); `oauth`: token endpoint (3); `xml`: storage (4.2); `html`: pages. */
export type ErrorStyle = 'json' | 'oauth' | 'xml' | 'html';

/** Returns the body of a refusal and its content type. */
export function refusalBody(refusal: Refusal, style: ErrorStyle): { type: string; body: string } {
  const text = refusal.detail ?? refusal.title;
  switch (style) {
    case 'json':
      return { type: JSON_TYPE, body: JSON.stringify({ errors: [errorObject(refusal)] }) };
    case 'oauth':
      return { type: JSON_TYPE, body: JSON.stringify({ error: refusal.code, error_description: text }) };
    case 'xml':
      return {
        type: 'application/xml',
        body: `<?xml version="1.0" encoding="UTF-8"?>\n<Error><Code>${escapeHtml(refusal.code)}</Code><Message>${escapeHtml(text)}</Message></Error>`,
      };
    case 'html':
      return {
        type: 'text/html; charset=utf-8',
        body: `<!doctype html><html lang="en"><title>${escapeHtml(refusal.title)}</title><h1>${escapeHtml(refusal.title)}</h1><p>${escapeHtml(text)}</p></html>`,
      };
  }
}

function errorObject(refusal: Refusal): Record<string, unknown> {
  return {
    id: randomUUID(),
    code: refusal.code,
    http_status: String(refusal.status),
    title: refusal.title,
    ...(refusal.detail === undefined ? {} : { detail: refusal.detail }),
    ...(refusal.meta === undefined ? {} : { meta: refusal.meta }),
  };
}

export const JSON_TYPE = 'application/json; charset=utf-8';

export const recordNotFound = (record: string): Refusal =>
  new Refusal(404, 'recordNotFound', 'The record was not found.', { meta: { record_name: record } });

export const requiredField = (model: string, field: string): Refusal =>
  new Refusal(400, 'requiredField', 'A required field is missing.', {
    meta: { error_type: 'ModelValidationError', model_name: model, field_name: field },
  });

export const invalidValue = (model: string, field: string, rule: string, given: unknown): Refusal =>
  new Refusal(400, 'invalidValue', 'A field has a value that is not allowed.', {
    detail: `${field} ${rule}.`,
    meta: { error_type: 'ModelValidationError', model_name: model, field_name: field, given_value: given },
  });

/** Creates a refusal for a fault by its status, with the default code and title. */
export function refusalOf(status: number, code?: string, detail?: string): Refusal {
  const [usualCode, title] = USUAL[status] ?? (status >= 500 ? USUAL[500]! : USUAL[400]!);
  return new Refusal(status, code ?? usualCode, title, detail === undefined ? {} : { detail });
}

const USUAL: Record<number, [code: string, title: string]> = {
  400: ['badRequest', 'The request is not acceptable.'],
  401: ['invalidToken', 'The access token is not acceptable.'],
  403: ['forbidden', 'This is not allowed.'],
  404: ['recordNotFound', 'The record was not found.'],
  409: ['conflict', 'This is not possible now.'],
  429: ['tooManyRequests', 'Too many requests.'],
  500: ['unexpectedError', 'An unexpected error occurred.'],
  502: ['badGateway', 'The upstream service sent an invalid answer.'],
  503: ['serviceUnavailable', 'The service is not available.'],
  504: ['gatewayTimeout', 'The upstream service did not answer in time.'],
};
