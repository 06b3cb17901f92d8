import assert from 'node:assert/strict';
import type { Node, NodeAPI, NodeDef } from 'node-red';
import { RefusedNode } from '../../../nodes/shared/refused';
import { textOf } from '../../helpers/sources';

const texts = JSON.parse(textOf('nodes/account/texts.json')) as Record<string, Record<string, string>>;
const RED = {
  _: (key: string) => texts[key.split(':')[1] ?? '']?.['en-US'],
  nodes: { createNode: () => undefined },
} as unknown as NodeAPI;

describe('nodes/shared/refused', () => {
  it('asks for a restart in the status, in the log and for each message', () => {
    const shown: unknown[] = [];
    let answer: (msg: object, send: () => void, done: (error: Error) => void) => void = () => assert.fail();
    const node = {
      status: ({ fill, text }: { fill: string; text: string }) => shown.push([fill, text]),
      error: (sentence: string) => shown.push(sentence),
      on: (_: string, listener: typeof answer) => (answer = listener),
    } as unknown as Node;
    RefusedNode.call(node, RED, {} as NodeDef);
    const sentence = 'The pack was upgraded: restart Node-RED.';
    assert.deepEqual(shown, [['red', 'upgraded: restart Node-RED'], sentence]);
    answer({}, assert.fail, (error) =>
      assert.deepEqual([error.message, (error as Error & { code: string }).code], [sentence, 'NOT_CONFIGURED']),
    );
  });
});
