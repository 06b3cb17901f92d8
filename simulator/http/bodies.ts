import type { Call } from './server';
import { invalidValue, Refusal, requiredField } from './refusals';

const MOST_BYTES = 1024 * 1024;

type Body = Pick<Call, 'request' | 'body'>;

async function readText({ body }: Body): Promise<string> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of body) {
    size += chunk.length;
    if (size > MOST_BYTES) throw new Refusal(413, 'bodyTooLarge', 'The body is too large.');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks).toString('utf8');
}

function mediaType({ request }: Body): string {
  return (request.headers['content-type'] ?? '').split(';')[0]!.trim().toLowerCase();
}

/** Reads a JSON body; `undefined` for an empty one. */
export async function readJson(call: Body): Promise<unknown> {
  const text = await readText(call);
  if (text === '') return undefined;
  if (mediaType(call) !== 'application/json')
    throw new Refusal(415, 'unsupportedMediaType', 'The body must be application/json.');
  try {
    return JSON.parse(text) as unknown;
  } catch {
    throw new Refusal(400, 'invalidJson', 'The body is not JSON.');
  }
}

/** Reads the object in the `data` envelope; `undefined` for an empty body. */
export async function readData(
  call: Body,
  model: string,
  fields: string[],
): Promise<Record<string, unknown> | undefined> {
  const body = await readJson(call);
  if (body === undefined) return undefined;
  if (!isObject(body) || body.data === undefined) throw requiredField(model, 'data');
  checkFields(model, body, ['data']);
  const { data } = body;
  if (!isObject(data)) throw invalidValue(model, 'data', 'must be an object', data);
  checkFields(model, data, fields);
  return data;
}

/** Throws for a field that the model doesn't have. */
export function checkFields(model: string, data: Record<string, unknown>, fields: string[]): void {
  for (const name of Object.keys(data)) if (!fields.includes(name)) throw unexpectedField(model, name);
}

/** Reads a URL-encoded form; throws for a repeated field (`oauth` and `html` endpoints). */
export async function readForm(call: Body): Promise<Record<string, string>> {
  if (mediaType(call) !== 'application/x-www-form-urlencoded')
    throw new Refusal(400, 'invalid_request', 'The body must be application/x-www-form-urlencoded.');
  const form: Record<string, string> = {};
  for (const [name, value] of new URLSearchParams(await readText(call))) {
    if (Object.hasOwn(form, name)) throw new Refusal(400, 'invalid_request', `${name} was sent twice.`);
    form[name] = value;
  }
  return form;
}

export const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value);

const unexpectedField = (model: string, field: string): Refusal =>
  new Refusal(400, 'unexpectedField', 'A field is not known.', { meta: { model_name: model, field_name: field } });
