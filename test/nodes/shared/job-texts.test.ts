import assert from 'node:assert/strict';
import type { NodeAPI } from 'node-red';
import { readPrintJob } from '../../../lib/service/print-job';
import { addJobTexts } from '../../../nodes/shared/job-texts';
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
    impediments_to_printing: [{ translation_key: 'does_not_fit_in_build_volume' }],
  });

describe('nodes/shared/job-texts', () => {
  for (const [language, texts] of [
    [
      'en-US',
      [
        ...['Load Generic ABS instead of Generic PLA in extruder 2.', 'The print requires a change: levitation.'],
        'The print does not fit in the printer.',
      ],
    ],
    [
      'de',
      [
        ...['Generic ABS statt Generic PLA in Extruder 2 einlegen.', 'Der Druck verlangt eine Änderung: levitation.'],
        'Der Druck passt nicht in den Drucker.',
      ],
    ],
  ] as const)
    it(`describes required changes and impediments in the language ${language}, wherever a payload has jobs`, () => {
      for (const payload of [
        job(),
        [job(), job()],
        { jobs: [job()], history: [job()], current: job() },
        { type: 'job.attention', job: job() },
      ]) {
        const described = JSON.stringify(addJobTexts(speaking(language), payload));
        const all = [...described.matchAll(/"text":("[^"]+")/g)].map(([, text]) => JSON.parse(text!) as string);
        const jobs = described.match(/"clusterJobId":"a"/g)!.length;
        assert.deepEqual(all, Array.from({ length: jobs }, () => texts).flat());
      }
    });

  it('leaves payloads without jobs as they are', () => {
    for (const payload of [null, undefined, 'text', 7, [], {}, { jobs: null, current: null }, { job: 'x' }]) {
      const before = structuredClone(payload);
      assert.deepEqual(addJobTexts(speaking('de'), payload), before);
    }
  });
});
