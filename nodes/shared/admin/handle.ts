import type { Request, Response } from 'express';
import { asPrintingError } from '../../../lib/service/errors';
import { Sentence } from '../../../lib/words/sentence';
import { inLanguage, languageOf } from '../language';
import { UnknownAccount } from './accounts';

export const idOf = (request: Request): string => String(request.params.id);

/** What the pack's own forms ask for: a browser writes each answer that is no 200 into its console, awaited or not. */
const FORMS = 'application/vnd.remote-printing.form+json';

/**
 * Answers what `work` gives as JSON, its sentences in the language of who asks; 404 for an unknown account, 400 for
 * anything else that goes wrong. Forms are told either within a 200, as `{ answer }` or `{ failure }`.
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
        const status = thrown instanceof UnknownAccount ? 404 : 400;
        if (!isForm) response.status(status);
        send(isForm ? { failure: { status, error, code } } : { error, code });
      },
    );
    // Nothing is left to say once an answer can't be written.
    answering.catch(() => response.destroy());
  };
