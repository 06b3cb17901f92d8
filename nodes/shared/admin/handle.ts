import type { Request, Response } from 'express';
import { asPrintingError } from '../../../lib/service/errors';
import { Sentence } from '../../../lib/words/sentence';
import { inLanguage, languageOf } from '../language';
import { Unknown } from './accounts';

export const idOf = (request: Request): string => String(request.params.id);

/**
 * Media type that the pack's forms request: browsers log every answer other than 200 to the console, even if handled.
 */
const FORMS = 'application/vnd.remote-printing.form+json';

/**
 * Answers with the result of `work` as JSON, with sentences in the client's language. Answers 404 for an unknown
 * account or queue and 400 for any other error. Forms get both within a 200, as `{ answer }` or `{ failure }`.
 */
export const handle =
  (work: (request: Request, response: Response) => Promise<unknown>) => (request: Request, response: Response) => {
    const isForm = request.get('accept') === FORMS;
    const language = languageOf(request);
    const send = (body: unknown) => {
      const translated = (_: string, value: unknown) =>
        value instanceof Sentence ? inLanguage(language, value) : value;
      response.type('json').send(JSON.stringify(body, translated));
    };
    response.set('Cache-Control', 'no-store');
    const answering = work(request, response).then(
      (answer) => send(isForm ? { answer } : answer),
      (thrown: unknown) => {
        const { code, sentence: error } = asPrintingError(thrown);
        const status = thrown instanceof Unknown ? 404 : 400;
        if (!isForm) response.status(status);
        send(isForm ? { failure: { status, error, code } } : { error, code });
      },
    );
    // Ends the connection if the answer can't be written.
    answering.catch(() => response.destroy());
  };
