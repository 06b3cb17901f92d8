import type { Ids } from '../service/errors';
import { storedIds, type StoredRef } from '../service/stored-file';
import type { Clock } from '../time/clock';

export type UploadStage = 'preparing' | 'registering' | 'uploading' | 'confirming';

export interface UploadProgress {
  /** Null before the registration, and for a library file. */
  jobId: string | null;
  bytesSent: number;
  /** Null while it is unknown: during compression. */
  bytesTotal: number | null;
  /** 0 to 100, one decimal. */
  percent: number;
  /** Bytes per second, smoothed; null before the first measurement. */
  rate: number | null;
  /** At that rate; null without a rate. */
  secondsLeft: number | null;
}

/** Shortest interval between the reports of a transfer, except the first and the last, ms. */
const PAUSE = 250;
/** Weight of the latest pace in the smoothed rate. */
const NEWEST = 0.3;

/** Reports the stages of one upload and the progress of its bytes. */
export class ProgressReports {
  /** The ids known so far. */
  ids: Ids = {};
  #total: number | null = null;
  #sent = 0;
  /** Highest reported number of bytes, so that a resend is not reported twice. */
  #shown = 0;
  #rate: number | null = null;
  #reported = { at: 0, sent: 0 };

  constructor(
    private readonly clock: Clock,
    private readonly onStage: (stage: UploadStage, progress: UploadProgress) => void,
  ) {}

  preparing(total: number | null): void {
    this.#total = total;
    this.#report('preparing');
  }

  /** Reports that all bytes are still to be sent, or to be sent again. */
  registering(total: number): void {
    this.#total = total;
    this.#sent = this.#shown = 0;
    this.#rate = null;
    this.#report('registering');
  }

  /** Takes the id of the registered file. */
  registered(file: StoredRef): void {
    this.ids = storedIds(file);
  }

  /** Makes the first report of a transfer; `from` is its first byte. */
  uploading(from = 0): void {
    this.#sent = from;
    this.#rate = null;
    this.#report('uploading');
  }

  /** Counts bytes that were handed to the connection. */
  sent(bytes: number): void {
    this.#sent += bytes;
    const elapsed = this.clock.monotonic() - this.#reported.at;
    if (elapsed < PAUSE && this.#sent !== this.#total) return;
    if (elapsed > 0) {
      const pace = ((this.#sent - this.#reported.sent) / elapsed) * 1000;
      this.#rate = this.#rate === null ? pace : this.#rate + NEWEST * (pace - this.#rate);
    }
    this.#report('uploading');
  }

  confirming(): void {
    this.#report('confirming');
  }

  #report(stage: UploadStage): void {
    this.#reported = { at: this.clock.monotonic(), sent: this.#sent };
    const left = this.#total === null ? null : this.#total - this.#sent;
    this.#shown = Math.max(this.#shown, this.#sent);
    this.onStage(stage, {
      jobId: this.ids.jobId ?? null,
      bytesSent: this.#shown,
      bytesTotal: this.#total,
      // Rounded down, so that 100 means complete.
      percent: this.#total === null ? 0 : Math.floor((this.#shown / this.#total) * 1000) / 10,
      rate: this.#rate === null ? null : Math.round(this.#rate),
      secondsLeft: left === null || !this.#rate ? null : Math.ceil(left / this.#rate),
    });
  }
}
