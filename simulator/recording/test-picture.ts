import { draw } from '../storage/picture/draw';
import { png } from '../storage/picture/png';

let made: Promise<Buffer> | undefined;

/** The picture that stands for every recorded one. */
export const testPicture = (): Promise<Buffer> =>
  (made ??= png(
    draw({
      ...{ printer: 'TEST PICTURE', status: 'idle', takenAt: 0, nozzle: 20, plate: 20, head: 0.5 },
      ...{ material: null, color: null, job: null },
    }),
  ));
