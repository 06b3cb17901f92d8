import assert from 'node:assert/strict';
import { spawn } from 'node:child_process';
import { once } from 'node:events';

/**
 * Runs a script that prints a number for each thing that it has saved at `place`, and kills it as soon as it has printed `answers`
 * of them. Returns the printed numbers.
 */
export async function answersUntilKilled(script: string, place: string, answers: number): Promise<number[]> {
  const args = ['--require', './test/typescript.cjs', script, place];
  const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'inherit'] });
  let output = '';
  const numbers = () => output.split('\n').slice(0, -1).map(Number);
  child.stdout.on('data', (part: Buffer) => {
    output += part.toString();
    if (numbers().length >= answers) child.kill('SIGKILL');
  });
  await once(child, 'close');
  assert.equal(child.signalCode, 'SIGKILL');
  return numbers();
}
