import assert from 'node:assert/strict';
import type { NodeAPI } from 'node-red';
import { readPrintJob } from '../../../lib/service/print-job';
import { addChangeTexts } from '../../../nodes/shared/change-texts';
import { SHARED } from '../../../nodes/shared/language';

const speaking = (language: string) =>
  ({ _: (key: string) => (key === `${SHARED}:language` ? language : key) }) as unknown as NodeAPI;

const job = () =>
  readPrintJob({
    uuid: 'a',
    configuration_changes_required: [
      { type_of_change: 'material_change', index: 1, origin_name: 'Generic PLA', target_name: 'Generic ABS' },
      { type_of_change: 'levitation' },
    ],
  });

describe('nodes/shared/change-texts', () => {
  for (const [language, texts] of [
    ['en-US', ['Load Generic ABS instead of Generic PLA in extruder 2.', 'The print requires a change: levitation.']],
    ['de', ['Generic ABS statt Generic PLA in Extruder 2 einlegen.', 'Der Druck verlangt eine Änderung: levitation.']],
  ] as const)
    it(`adds an instruction to each required change in the language ${language}, wherever a payload has jobs`, () => {
      for (const payload of [
        job(),
        [job(), job()],
        { jobs: [job()], history: [job()], current: job() },
        { type: 'job.attention', job: job() },
      ]) {
        const described = JSON.stringify(addChangeTexts(speaking(language), payload));
        const all = [...described.matchAll(/"text":("[^"]+")/g)].map(([, text]) => JSON.parse(text!) as string);
        const jobs = described.match(/"clusterJobId":"a"/g)!.length;
        assert.deepEqual(all, Array.from({ length: jobs }, () => texts).flat());
      }
    });

  it('leaves payloads without jobs as they are', () => {
    for (const payload of [null, undefined, 'text', 7, [], {}, { jobs: null, current: null }, { job: 'x' }]) {
      const before = structuredClone(payload);
      assert.deepEqual(addChangeTexts(speaking('de'), payload), before);
    }
  });
});
