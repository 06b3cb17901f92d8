/** The small page that a sign-in ends on. Static but for one sentence, which is escaped; no script. */
export const callbackPage = {
  headers: {
    'Content-Type': 'text/html; charset=utf-8',
    'Cache-Control': 'no-store',
    'Referrer-Policy': 'no-referrer',
    'X-Content-Type-Options': 'nosniff',
    'Content-Security-Policy': "default-src 'none'; style-src 'unsafe-inline'; frame-ancestors 'none'",
  },
  done: (): string => page('Signed in', 'You can close this window and return to Node-RED.'),
  failed: (reason: string): string => page('Not signed in', reason),
};

const page = (title: string, sentence: string): string => `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title}</title>
<style>:root{color-scheme:light dark}body{font:1rem/1.5 system-ui,sans-serif;max-width:32rem;margin:15vh auto;padding:0 1rem;text-align:center}</style></head>
<body><h1>${title}</h1><p>${escape(sentence)}</p></body>
</html>
`;

const escape = (words: string): string => words.replace(/[&<>"']/g, (character) => `&#${character.charCodeAt(0)};`);
