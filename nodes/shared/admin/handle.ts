import type { Request, Response } from 'express';
import { asPrintingError } from '../../../lib/service/errors';
import { UnknownAccount } from './accounts';

export const idOf = (request: Request): string => String(request.params.id);

/** Answers what `work` gives as JSON; 404 for an unknown account, 400 for anything else that goes wrong. */
export const handle = (work: (request: Request) => Promise<unknown>) => (request: Request, response: Response) => {
  response.set('Cache-Control', 'no-store');
  work(request).then(
    (answer) => response.json(answer),
    (thrown: unknown) => {
      const error = asPrintingError(thrown);
      response.status(error instanceof UnknownAccount ? 404 : 400).json({ error: error.message, code: error.code });
    },
  );
};
