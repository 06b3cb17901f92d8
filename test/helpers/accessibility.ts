import assert from 'node:assert/strict';
import { source } from 'axe-core';
import type { Locator } from 'playwright-core';

interface Found {
  violations: { impact?: string | null; help: string; nodes: { html: string; failureSummary?: string }[] }[];
  passes: { id: string }[];
}

/**
 * Fails with what axe-core finds in this part of a page that is serious for people who see it badly or use no mouse.
 * What is folded up or hidden is not looked at: open it first.
 */
export async function assertAccessible(part: Locator, what: string): Promise<void> {
  await part.page().evaluate(source);
  const { violations, passes } = await part.evaluate((element: unknown) => {
    const { axe } = globalThis as unknown as { axe: { run(part: unknown): Promise<Found> } };
    return axe.run(element);
  });
  const serious = violations.filter(({ impact }) => impact === 'serious' || impact === 'critical');
  const words = serious.flatMap(({ help, nodes }) =>
    nodes.map(({ html, failureSummary }) => `${help}: ${html}\n  ${failureSummary ?? ''}`),
  );
  assert.deepEqual(words, [], what);
  // Nothing was there to be found fault with, if no text has been held against its background.
  assert.ok(
    passes.some(({ id }) => id === 'color-contrast'),
    `${what}: no text was looked at`,
  );
}
