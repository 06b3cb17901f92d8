interface PageFacts {
  title: string;
  /** Such as `en-US`. */
  language: string;
  version: string;
}

/** The page before its script has begun. All addresses are relative: a proxy may put a path before that of the board. */
export const pageOf = ({ title, language, version }: PageFacts): string =>
  [
    '<!doctype html>',
    `<html lang="${language}" dir="ltr">`,
    '<head>',
    '<meta charset="utf-8">',
    '<meta name="viewport" content="width=device-width, initial-scale=1">',
    '<meta name="color-scheme" content="light dark">',
    `<title>${escaped(title)}</title>`,
    '<link rel="icon" href="icon.svg" type="image/svg+xml">',
    `<link rel="stylesheet" href="board.css?${version}">`,
    `<script type="module" src="board.js?${version}"></script>`,
    '</head>',
    `<body data-version="${version}"></body>`,
    '</html>',
    '',
  ].join('\n');

const escaped = (text: string): string => text.replace(/[&<>"]/g, (character) => `&#${character.charCodeAt(0)};`);
