/** Has the palette's filter, which knows types and labels alone, find a type by what people call the matter. */
export function addKeywords(type: string, words: string): void {
  const entry = $(`.red-ui-palette-node[data-palette-type="${type}"]`);
  entry.attr('data-palette-label', `${entry.attr('data-palette-label') ?? ''} ${words}`);
}
