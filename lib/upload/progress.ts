import type { Clock } from '../time/clock';

export type UploadStage = 'preparing' | 'registering' | 'uploading' | 'confirming';

export interface UploadProgress {
  bytesSent: number;
  /** Null until it is known: while a file is being compressed. */
  bytesTotal: number | null;
  /** 0 to 100, one decimal. */
  percent: number;
  /** Bytes per second, smoothed; null before there is one. */
  rate: number | null;
  /** At that rate; null where there is none. */
  secondsLeft: number | null;
}

/** Not more often than this between the first and the last report of a sending, ms. */
const PAUSE = 250;
/** Share of the newest pace in the smoothed rate. */
const NEWEST = 0.3;

/** Tells the stages of one upload, and how far its bytes are. */
export class ProgressReports {
  readonly #clock: Clock;
  readonly #onStage: (stage: UploadStage, progress: UploadProgress) => void;
  #total: number | null = null;
  #sent = 0;
  /** What was reported last: what is sent once more is not told once more. */
  #shown = 0;
  #rate: number | null = null;
  #reported = { at: 0, sent: 0 };

  constructor(clock: Clock, onStage: (stage: UploadStage, progress: UploadProgress) => void) {
    this.#clock = clock;
    this.#onStage = onStage;
  }

  preparing(total: number | null): void {
    this.#total = total;
    this.#report('preparing');
  }

  /** All of it is still to be sent (again). */
  registering(total: number): void {
    this.#total = total;
    this.#sent = this.#shown = 0;
    this.#rate = null;
    this.#report('registering');
  }

  /** The first report of a sending; `from` is its first byte. */
  uploading(from = 0): void {
    this.#sent = from;
    this.#rate = null;
    this.#report('uploading');
  }

  /** More bytes were handed to the connection. */
  sent(bytes: number): void {
    this.#sent += bytes;
    const elapsed = this.#clock.monotonic() - this.#reported.at;
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
    this.#reported = { at: this.#clock.monotonic(), sent: this.#sent };
    const left = this.#total === null ? null : this.#total - this.#sent;
    this.#shown = Math.max(this.#shown, this.#sent);
    this.#onStage(stage, {
      bytesSent: this.#shown,
      bytesTotal: this.#total,
      // Rounded down, so that 100 means all of it.
      percent: this.#total === null ? 0 : Math.floor((this.#shown / this.#total) * 1000) / 10,
      rate: this.#rate === null ? null : Math.round(this.#rate),
      secondsLeft: left === null || !this.#rate ? null : Math.ceil(left / this.#rate),
    });
  }
}
