/**
 * @typedef {import('./measure.mjs').Figures | { failed: string }} Result
 * @typedef {{ name: string, rounds: Result[] }} Row the contenders in their order: our node first, the yardstick last
 */

/** Targets for the upload node: delay of the event loop in ms; memory and throughput as a multiple of the yardstick's. */
const TARGET = { growth: 1.25, p99: 10, ratio: 0.95 };

/** @param {string} name @param {number} mib @param {Result} result */
export function line(name, mib, result) {
  if ('failed' in result) return `  ${name.padEnd(12)} failed: ${result.failed}`;
  const { seconds, growth, probed } = result;
  const held = probed
    ? `, loop delay p99 ${probed.delays.p99.toFixed(1)} ms, max ${probed.delays.max.toFixed(1)} ms`
    : '';
  return `  ${name.padEnd(12)} ${seconds.toFixed(2)} s, ${(mib / seconds).toFixed(0)} MiB/s, memory +${growth.toFixed(0)} MiB${held}`;
}

/** Table with a column for each figure: minimum / median / maximum of the rounds. @param {Row[]} rows @param {number} mib */
export function table(rows, mib) {
  const heads = [
    '',
    'seconds',
    'MiB/s',
    'to yardstick',
    'to upload node',
    'memory MiB',
    'CPU s',
    'loop p50 ms',
    'p99 ms',
    'max ms',
  ];
  const lines = rows.map((row) => [
    row.name,
    spread(row, ({ seconds }) => seconds, 2),
    spread(row, ({ seconds }) => mib / seconds, 0),
    ratioCell(row, rows.at(-1)),
    ratioCell(row, rows[0]),
    spread(row, ({ growth }) => growth, 0),
    spread(row, ({ probed }) => probed?.cpu, 2),
    spread(row, ({ probed }) => probed?.delays.p50, 1),
    spread(row, ({ probed }) => probed?.delays.p99, 1),
    spread(row, ({ probed }) => probed?.delays.max, 1),
  ]);
  return grid([heads, ...lines]);
}

/** Text in columns. @param {string[][]} lines */
export function grid(lines) {
  const widths = (lines[0] ?? []).map((_, at) => Math.max(...lines.map((cells) => cells[at]?.length ?? 0)));
  return lines.map((cells) => cells.map((cell, at) => cell.padEnd(widths[at] ?? 0)).join('  ')).join('\n');
}

/** @param {Row[]} rows @returns {{ met: boolean, text: string }[]} */
export function judge(rows) {
  const [node, yardstick] = [rows[0], rows.at(-1)];
  if (!node || !yardstick || node.rounds.some((result) => 'failed' in result))
    return [{ met: false, text: 'the upload node sends the file in every round' }];
  const growth = median(ratios(node, yardstick, (own, other) => own.growth / other.growth));
  const p99 = Math.max(...values(node, ({ probed }) => probed?.delays.p99));
  const ratio = median(ratios(node, yardstick));
  return [
    {
      met: growth <= TARGET.growth,
      text: `memory grows by at most ${TARGET.growth} times as much as the yardstick's: ${growth.toFixed(2)} in the median round`,
    },
    {
      met: p99 <= TARGET.p99,
      text: `the event loop's p99 delay is at most ${TARGET.p99} ms: ${p99.toFixed(1)} ms in the worst round`,
    },
    {
      met: ratio >= TARGET.ratio,
      text: `throughput is at least ${TARGET.ratio} of the yardstick's: ${ratio.toFixed(2)} in the median round`,
    },
  ];
}

/** Prints verdicts; returns the exit code. @param {{ met: boolean, text: string }[]} verdicts */
export function exitCode(verdicts) {
  for (const { met, text } of verdicts) console.log(`${met ? 'met   ' : 'MISSED'} ${text}`);
  return verdicts.every(({ met }) => met) ? 0 : 1;
}

/** @param {Row} row @param {(figures: import('./measure.mjs').Figures) => number | undefined} figure */
const values = (row, figure) => row.rounds.flatMap((result) => ('failed' in result ? [] : (figure(result) ?? [])));

/**
 * Ratios to another contender in the same round, of the throughput by default.
 * @typedef {import('./measure.mjs').Figures} Figures
 * @param {Row} row @param {Row | undefined} other @param {(own: Figures, other: Figures) => number} ratio
 */
const ratios = (row, other, ratio = (own, rival) => rival.seconds / own.seconds) =>
  row.rounds.flatMap((result, round) => {
    const rival = other?.rounds[round];
    return !rival || 'failed' in result || 'failed' in rival ? [] : ratio(result, rival);
  });

/** @param {Row} row @param {(figures: import('./measure.mjs').Figures) => number | undefined} figure @param {number} digits */
const spread = (row, figure, digits) => cell(row, values(row, figure), digits);

/** @param {Row} row @param {Row | undefined} other */
const ratioCell = (row, other) => cell(row, ratios(row, other), 2);

/** @param {Row} row @param {number[]} numbers @param {number} digits */
function cell(row, numbers, digits) {
  if (row.rounds.every((result) => 'failed' in result)) return 'failed';
  if (numbers.length === 0) return '-';
  return [Math.min(...numbers), median(numbers), Math.max(...numbers)]
    .map((number) => number.toFixed(digits))
    .join(' / ');
}

/** Median; NaN without numbers. @param {number[]} numbers */
export function median(numbers) {
  const sorted = numbers.toSorted((a, b) => a - b);
  const middle = sorted.length / 2;
  return ((sorted[Math.ceil(middle) - 1] ?? NaN) + (sorted[Math.floor(middle)] ?? NaN)) / 2;
}
