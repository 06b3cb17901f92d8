import { phrase, type Sentence } from '../../../lib/words/sentence';
import { inLanguage } from '../language';

/** The page at the end of a sign-in. It is static except for one escaped sentence, and has no script. */
export const callbackPage = {
  headers: {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  },
  done: (language: string): string =>
    page(language, phrase`Signed in`, phrase`You can close this window and return to Node-RED.`),
  failed: (language: string, reason: Sentence): string => page(language, phrase`Not signed in`, reason),
};

function page(language: string, title: Sentence, sentence: Sentence): string {
  const [shownTitle, shownSentence] = [title, sentence].map((words) => escape(inLanguage(language, words)));
  return `<!doctype html>
<html lang="${language}">
<head><meta charset="utf-8"><title>${shownTitle}</title>
<style>:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem;text-align:center}</style></head>
<body><h1>${shownTitle}</h1><p>${shownSentence}</p></body>
</html>
`;
}

const escape = (words: string): string => words.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
