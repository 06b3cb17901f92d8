import assert from 'node:assert/strict';
import { source } from 'axe-core';
import type { Locator } from 'playwright-core';

interface Found {
  violations: { impact?: string | null; help: string; nodes: { html: string; failureSummary?: string }[] }[];
  passes: { id: string; nodes: { any: { data?: { contrastRatio?: number } | null }[] }[] }[];
}

/** Longest wait for a fade-in, which changes the contrast until it ends, ms. */
const SETTLES = 10_000;

/**
 * Fails on every violation in these parts of a page that axe-core rates serious or critical. axe-core skips folded and
 * hidden parts: open them first.
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
    // Node-RED's body has no height and hides its overflow. Browsers ignore that, but axe-core would treat everything
    // as hidden.
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
  const isMeasured = contrasts.some(({ any }) => any.some(({ data }) => data?.contrastRatio));
  return isMeasured ? words : [...words, 'axe measured no contrast'];
}
