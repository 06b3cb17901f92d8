import assert from 'node:assert/strict';
import { source } from 'axe-core';
import type { Locator } from 'playwright-core';

interface Found {
  violations: { impact?: string | null; help: string; nodes: { html: string; failureSummary?: string }[] }[];
  passes: { id: string; nodes: { any: { data?: { contrastRatio?: number } | null }[] }[] }[];
}

/** Part of a page, as far as a check moves it. */
interface Part {
  replaceWith(other: Part): void;
}

/** Longest wait for a fade-in, which changes the contrast until it ends, ms. */
const SETTLES = 10_000;

/** Rules of axe-core to check; by default all. */
export type Rules = readonly string[];

/** Rules whose result depends on the colors of a theme. */
export const COLORS: Rules = ['color-contrast'];

/**
 * Fails on every violation in these parts of a page that axe-core rates serious or critical. axe-core skips folded and
 * hidden parts: open them first.
 */
export async function assertAccessible(parts: Locator, what: string, rules?: Rules): Promise<void> {
  await parts.first().waitFor();
  if (await parts.page().evaluate('!window.axe')) await parts.page().evaluate(source);
  let found = await seriousIn(parts, rules);
  for (const end = Date.now() + SETTLES; found.length > 0 && Date.now() < end;) found = await seriousIn(parts, rules);
  assert.deepEqual(found, [], what);
}

async function seriousIn(parts: Locator, rules?: Rules): Promise<string[]> {
  // Selectors of the elements and the style sheets of other hosts would cost most of the time; no check needs them.
  const options = { selectors: false, preload: false, ...(rules && { runOnly: rules }) };
  const { violations, passes } = await parts.evaluateAll(async (include: unknown, options: object) => {
    const { axe, document } = globalThis as unknown as {
      axe: { run(context: object, options: object): Promise<Found> };
      document: Record<'documentElement' | 'body', { style: { overflow: string } }> & {
        querySelectorAll(selector: string): Iterable<Part>;
        createComment(text: string): Part;
      };
    };
    // Node-RED's body has no height and hides its overflow. Browsers ignore that, but axe-core would treat everything
    // as hidden.
    const outer = [document.documentElement.style, document.body.style];
    for (const style of outer) style.overflow = 'visible';
    // axe-core computes the style of every element of the page, so take the large parts of the editor away meanwhile.
    const away = [...document.querySelectorAll('#red-ui-palette, #red-ui-sidebar, #red-ui-workspace')].map((part) => {
      const place = document.createComment('');
      part.replaceWith(place);
      return () => place.replaceWith(part);
    });
    try {
      return await axe.run({ include }, options);
    } finally {
      for (const putBack of away) putBack();
      for (const style of outer) style.overflow = '';
    }
  }, options);
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  const words = serious.flatMap(({ help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${help}: ${html}\n  ${failureSummary ?? ''}`),
  );
  const contrasts = passes.filter(({ id }) => id === 'color-contrast').flatMap(({ nodes }) => nodes);
  const isMeasured = contrasts.some(({ any }) => any.some(({ data }) => data?.contrastRatio));
  return isMeasured ? words : [...words, 'axe measured no contrast'];
}
