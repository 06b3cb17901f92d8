import { join } from 'node:path';
import { parseArgs } from 'node:util';

import { contenders } from './contenders.mjs';
import { writeGcode } from './gcode.mjs';
import { announce, inRoom } from './room.mjs';
import { startService } from './service.mjs';
import { exitCode, judge, line, table } from './table.mjs';

const MIB = 1024 * 1024;
const HELP = `Usage: npm run bench -- [options]

  --size MiB    of the file, 1 to 1024 (default 1024: the most that the service takes)
  --rounds N    counted rounds (default 3); one that is not counted goes before them
`;

/**
 * Runs all contenders in turn, round by round, and prints the measurements.
 * @param {string[]} args of the command line
 * @returns {Promise<number>} the exit code: 0 when all targets are met, 1 when one is missed, 2 for wrong arguments, 130 when broken off
 */
export async function bench(args) {
  const options = readArguments(args);
  if (typeof options === 'string') {
    console.log(options);
    return options === HELP ? 0 : 2;
  }
  return inRoom('bench', (room) => run({ ...options, ...room }));
}

/** @param {string[]} args @returns {{ size: number, rounds: number } | string} a text where there is nothing to run */
function readArguments(args) {
  try {
    const { values } = parseArgs({
      args,
      options: {
        size: { type: 'string', default: '1024' },
        rounds: { type: 'string', default: '3' },
        help: { type: 'boolean' },
      },
    });
    if (values.help) return HELP;
    const [size, rounds] = [Number(values.size), Number(values.rounds)];
    if (!Number.isInteger(size) || size < 1 || size > 1024) return `--size can't be ${values.size}.\n\n${HELP}`;
    if (!Number.isInteger(rounds) || rounds < 1 || rounds > 100)
      return `--rounds can't be ${values.rounds}.\n\n${HELP}`;
    return { size: size * MIB, rounds };
  } catch (error) {
    return `${error instanceof Error ? error.message : error}\n\n${HELP}`;
  }
}

/** @param {{ size: number, rounds: number } & import('./room.mjs').Room} options */
async function run({ size, rounds, folder, ends, signal }) {
  announce(`A .gcode file of ${size / MIB} MiB to the simulator's storage`);
  const file = await writeGcode(join(folder, 'bench.gcode'), size);
  const service = await startService(join(folder, 'service'), ends);
  signal.throwIfAborted();
  const setting = { folder, file, service, ends };

  /** @type {import('./table.mjs').Row[]} */
  const rows = contenders.map(({ name }) => ({ name, rounds: [] }));
  for (let round = 0; round <= rounds; round++) {
    console.log(round === 0 ? '\nwarm-up, not counted' : `\nround ${round} of ${rounds}`);
    for (let turn = 0; turn < contenders.length; turn++) {
      // Each round starts with a different contender, so that none always runs after the same one.
      const at = (round + turn) % contenders.length;
      const contender = /** @type {import('./contenders.mjs').Contender} */ (contenders[at]);
      const result = await contender.run(setting).catch((/** @type {Error} */ error) => ({ failed: error.message }));
      signal.throwIfAborted();
      console.log(line(contender.name, size / MIB, result));
      if (round > 0) rows[at]?.rounds.push(result);
    }
  }
  console.log(`\n${table(rows, size / MIB)}\n`);
  return exitCode(judge(rows));
}
