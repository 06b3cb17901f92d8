/** Adds search words to the palette's filter, which otherwise knows only types and labels. */
export function addKeywords(type: string, words: string): void {
  const entry = $(`.red-ui-palette-node[data-palette-type="${type}"]`);
  entry.attr('data-palette-label', `${entry.attr('data-palette-label') ?? ''} ${words}`);
}
