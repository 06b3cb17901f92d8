import type { Request, Response } from 'express';
import { asPrintingError } from '../../../lib/service/errors';
import { UnknownAccount } from './accounts';

export const idOf = (request: Request): string => String(request.params.id);

/** What the pack's own forms ask for: a browser writes each answer that is no 200 into its console, awaited or not. */
const FORMS = 'application/vnd.remote-printing.form+json';

/**
 * Answers what `work` gives as JSON; 404 for an unknown account, 400 for anything else that goes wrong. Forms are told
 * either within a 200, as `{ answer }` or `{ failure }`.
 */
export const handle = (work: (request: Request) => Promise<unknown>) => (request: Request, response: Response) => {
  const isForm = request.get('accept') === FORMS;
  response.set('Cache-Control', 'no-store');
  work(request).then(
    (answer) => response.json(isForm ? { answer } : answer),
    (thrown: unknown) => {
      const error = asPrintingError(thrown);
      const status = error instanceof UnknownAccount ? 404 : 400;
      if (isForm) response.json({ failure: { status, error: error.message, code: error.code } });
      else response.status(status).json({ error: error.message, code: error.code });
    },
  );
};
