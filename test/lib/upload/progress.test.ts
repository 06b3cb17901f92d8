import assert from 'node:assert/strict';
import { ProgressReports, type UploadProgress, type UploadStage } from '../../../lib/upload/progress';
import { ManualClock } from '../../helpers/manual-clock';

describe('upload/progress', () => {
  let clock: ManualClock;
  let reports: [UploadStage, UploadProgress][];
  let progress: ProgressReports;
  beforeEach(() => {
    clock = new ManualClock();
    reports = [];
    progress = new ProgressReports(clock, (...report) => reports.push(report));
    progress.preparing(1000);
    progress.registering(1000);
    progress.uploading();
    reports.length = 0;
  });
  const after = async (ms: number, bytes: number) => {
    await clock.advance(ms);
    progress.sent(bytes);
  };

  it('reports at most four times a second, and with the last byte', async () => {
    for (let tenth = 0; tenth < 10; tenth++) await after(100, 99);
    await after(1, 10);
    assert.deepEqual(
      reports.map(([stage, { bytesSent }]) => [stage, bytesSent]),
      [
        ['uploading', 297],
        ['uploading', 594],
        ['uploading', 891],
        ['uploading', 1000],
      ],
    );
  });

  it('reports percent with one decimal, and 100 only when complete', async () => {
    progress.registering(3000);
    await after(300, 1000);
    await after(300, 1999);
    await after(300, 1);
    assert.deepEqual(
      reports.slice(1).map(([, { percent }]) => percent),
      [33.3, 99.9, 100],
    );
  });

  it('reports a smoothed rate and the time left', async () => {
    await after(500, 100);
    await after(500, 100);
    await after(500, 300);
    const shown = reports.map(([, { rate, secondsLeft }]) => [rate, secondsLeft]);
    assert.deepEqual(shown, [
      [200, 5],
      [200, 4],
      [320, 2],
    ]);
  });

  it('starts over with another try', async () => {
    await after(500, 600);
    progress.registering(1000);
    progress.uploading();
    const fresh = { jobId: null, bytesSent: 0, bytesTotal: 1000, percent: 0, rate: null, secondsLeft: null };
    assert.deepEqual(reports.slice(1), [
      ['registering', fresh],
      ['uploading', fresh],
    ]);
  });

  it('reports no rate while no time has passed', () => {
    progress.sent(1000);
    progress.confirming();
    assert.deepEqual(
      reports.map(([stage, { percent, rate, secondsLeft }]) => [stage, percent, rate, secondsLeft]),
      [
        ['uploading', 100, null, null],
        ['confirming', 100, null, null],
      ],
    );
  });
});
