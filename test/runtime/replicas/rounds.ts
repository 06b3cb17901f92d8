import { setTimeout as pause } from 'node:timers/promises';

import { Chance } from '../../faults/chance';
import { seeded } from '../../helpers/seeded';
import type { Evidence, HazardKind } from './evidence';
import { Farm } from './farm';
import { HAZARDS, KINDS } from './hazards';
import { gaps, RULES, slowest } from './rules';
import { QUEUES } from './size';
import { tracesOf } from './traces';

export interface RoundsOptions {
  seed: number;
  /** Hazards of each round; by default, the seed chooses one or two. */
  rounds: readonly (readonly HazardKind[] | undefined)[];
  say: (line: string) => void;
}

/** Breaches by the name of the rule. */
export type Breaches = Map<string, string[]>;

/**
 * Longest wait for open work after a round, ms. A replica that is killed in the middle of a renewal holds its lock for up
 * to two minutes, the token rests for two more, and only then do the others poll again. A dispatch that is cut off leaves
 * its queue waiting for its lock (90 s), a search (150 s) and the operator.
 */
const PATIENCE = 420_000;

/** Breaches of one rule that are printed per round. */
const SHOWN = 5;

/** Identity of a breach, without its durations: they grow each time it is evaluated. */
const idOf = (sentence: string): string => sentence.replaceAll(/[\d.]+ s\b/g, '');

/** Runs rounds of hazards during prints, and returns the breaches of each rule. */
export async function runRounds({ seed, rounds, say }: RoundsOptions): Promise<Breaches> {
  const chance = new Chance(seeded(seed));
  const breaches: Breaches = new Map(RULES.map(({ name }) => [name, []]));
  const known = new Set<string>();
  const farm = await Farm.start(seed);
  try {
    for (const [at, wanted] of rounds.entries()) {
      const began = Date.now();
      const logged = farm.log.length;
      const all: string[] = [];
      const kinds = wanted ?? (chance.is(0.5) ? [chance.pick(KINDS)] : [chance.pick(KINDS), chance.pick(KINDS)]);
      const done = await round(farm, chance, `r${at + 1}`, kinds);
      const { seen, open } = await settle(farm, known);
      const seconds = ((Date.now() - began) / 1000).toFixed(0);
      say(`round ${at + 1}: ${done.join(', ')}; ${seconds} s`);
      for (const rule of RULES) {
        const sentences = [...rule.broken(seen), ...(open.get(rule.name) ?? [])];
        const fresh = sentences.filter((sentence) => !known.has(idOf(sentence)));
        fresh.forEach((sentence) => known.add(idOf(sentence)));
        breaches.get(rule.name)?.push(...fresh);
        if (fresh.length > 0) say(`  broken: ${rule.name}, ${fresh.length} times`);
        fresh.slice(0, SHOWN).forEach((sentence) => say(`    ${sentence}`));
        if (fresh.length === 0) continue;
        all.push(...fresh);
        for (const { kind, replica, from, to } of farm.hazards.filter((hazard) => hazard.from >= began))
          say(`      ${kind} ${replica}: ${from} to ${to}`);
        for (const { from, to } of seen.stuck.filter((stretch) => stretch.to >= began))
          say(`      unfinished renewal: ${from} to ${to}`);
      }
      if (all.length === 0) continue;
      for (const line of await tracesOf(farm, seen, all, farm.log.slice(logged))) say(`    ${line}`);
    }
    summary(await farm.evidence(), say);
  } finally {
    await farm.stop();
  }
  return breaches;
}

/** Starts prints and injects hazards while they run. Resolves with a description when the hazards have ended. */
async function round(farm: Farm, chance: Chance, name: string, kinds: readonly HazardKind[]): Promise<string[]> {
  const shuffled = <T>(all: readonly T[]): T[] =>
    all
      .map((one) => ({ one, at: chance.random() }))
      .sort((a, b) => a.at - b.at)
      .map(({ one }) => one);
  const printers = shuffled(farm.printers);
  for (let number = chance.whole(2, 4); number > 0; number--)
    farm.ask('print', `${name}-${number}`, printers.pop() ?? '', shuffled(farm.running).slice(0, chance.whole(2, 3)));
  for (let number = chance.whole(1, 2); number > 0; number--)
    farm.ask('wait', `${name}-wait-${number}`, printers.pop() ?? '', shuffled(farm.running).slice(0, 1));
  const adding = [3, 2, 1].map(async (number) => {
    const [copies, seconds] = [chance.whole(1, 3), chance.spread(30, 900)];
    const item = { queue: chance.pick(QUEUES).id, key: `${name}-item-${number}`, copies, seconds };
    const [isAwaited, after, again] = [chance.is(0.5), chance.whole(0, 8_000), chance.whole(0, 8_000)];
    const replicas = shuffled(farm.replicas);
    await pause(number === 1 ? 0 : after);
    farm.queues.add(item, replicas.slice(0, 2));
    await pause(again);
    // Some messages come twice.
    farm.queues.add(item, replicas.slice(2), isAwaited);
  });
  const interrupted = chance.is(0.4) ? farm.queues.interrupt(chance) : null;

  const victims = shuffled(farm.replicas);
  const done = await Promise.all(
    kinds.map(async (kind, at) => {
      const after = chance.whole(0, 5_000);
      const { words, run } = HAZARDS[kind](chance);
      const [first] = victims;
      const victim = victims[at] ?? first;
      if (!victim) return '';
      await pause(after);
      const aimed = (await run(farm, victim)) === false ? ' (missed)' : '';
      return `${kind} ${victim.number} at ${(after / 1000).toFixed(1)} s ${words}${aimed}`.trimEnd();
    }),
  );
  await Promise.all(adding);
  return interrupted ? [...done, await interrupted] : done;
}

/** Waits until no rule has open work but that of earlier rounds, or until the patience ends. Returns the open work by rule. */
async function settle(
  farm: Farm,
  known: ReadonlySet<string>,
): Promise<{ seen: Evidence; open: Map<string, string[]> }> {
  for (const end = Date.now() + PATIENCE; ; await pause(500)) {
    farm.askAgain();
    farm.queues.addAgain();
    const seen = await farm.evidence();
    const open = new Map(RULES.map(({ name, open: openOf }) => [name, openOf?.(seen) ?? []]));
    const isOver = [...open.values()].every((list) => list.every((sentence) => known.has(idOf(sentence))));
    if (isOver || Date.now() > end) return { seen, open };
  }
}

function summary(seen: Evidence, say: (line: string) => void): void {
  const longest = Math.max(...gaps(seen).map(({ ms, excused }) => ms - excused)) / 1000;
  const polls = [...seen.polls.values()].reduce((sum, times) => sum + times.length, 0);
  const minutes = (seen.now - seen.since) / 60_000;
  say(
    `${minutes.toFixed(1)} minutes: ${seen.printings.length} prints, ` +
      `${seen.queues.printings.length} of them for ${new Set(seen.queues.added.map(({ key }) => key)).size} queued items, ${seen.refreshes.length} refreshes, ` +
      `${polls} polls (${(polls / minutes / seen.polls.size).toFixed(1)} a minute for each printer), ` +
      `longest without one ${longest.toFixed(1)} s, ` +
      `slowest to follow a sign-in or a sign-out ${(slowest(seen) / 1000).toFixed(1)} s`,
  );
  for (const { name, excused } of RULES)
    for (const sentence of excused?.(seen) ?? []) say(`  not to be avoided: ${name}: ${sentence}`);
}
