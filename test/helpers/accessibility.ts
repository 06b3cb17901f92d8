import assert from 'node:assert/strict';
import { source } from 'axe-core';
import type { Locator } from 'playwright-core';

interface Found {
  violations: { impact?: string | null; help: string; nodes: { html: string; failureSummary?: string }[] }[];
  passes: { id: string; nodes: { any: { data?: { contrastRatio?: number } | null }[] }[] }[];
}

/** What fades in has another contrast until it is there, ms. */
const SETTLES = 10_000;

/**
 * Fails with what axe-core finds in these parts of a page that is serious for people who see it badly or use no mouse.
 * What is folded up or hidden is not looked at: open it first.
 */
export async function assertAccessible(parts: Locator, what: string): Promise<void> {
  await parts.first().waitFor();
  await parts.page().evaluate(source);
  let found = await seriousIn(parts);
  for (const end = Date.now() + SETTLES; found.length > 0 && Date.now() < end;) found = await seriousIn(parts);
  assert.deepEqual(found, [], what);
}

async function seriousIn(parts: Locator): Promise<string[]> {
  const { violations, passes } = await parts.evaluateAll(async (include: unknown) => {
    const { axe, document } = globalThis as unknown as {
      axe: { run(context: object): Promise<Found> };
      document: Record<'documentElement' | 'body', { style: { overflow: string } }>;
    };
    // Node-RED's body has no height and hides what hangs out of it: browsers ignore that, but axe would take all for hidden.
    const outer = [document.documentElement.style, document.body.style];
    for (const style of outer) style.overflow = 'visible';
    const found = await axe.run({ include });
    for (const style of outer) style.overflow = '';
    return found;
  });
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  const words = serious.flatMap(({ help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${help}: ${html}\n  ${failureSummary ?? ''}`),
  );
  const contrasts = passes.filter(({ id }) => id === 'color-contrast').flatMap(({ nodes }) => nodes);
  const isRead = contrasts.some(({ any }) => any.some(({ data }) => data?.contrastRatio));
  return isRead ? words : [...words, 'axe held no text against its background'];
}
