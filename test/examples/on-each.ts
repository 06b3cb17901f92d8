import { newestRuntimes } from '../helpers/real-node-red';

/** Defines tests that await an exercise, which runs on all wanted Node-REDs in parallel. `places` is filled in by then. */
export function onEach<Place>(
  places: ReadonlyMap<string, Place>,
  title: string,
  exercise: (place: Place) => Promise<void>,
): void {
  describe(title, () => {
    const runs = new Map<string, Promise<void>>();
    before(() => {
      for (const [name, place] of places) {
        const run = exercise(place);
        // Its own test awaits it.
        run.catch(() => undefined);
        runs.set(name, run);
      }
    });
    for (const { name } of newestRuntimes) it(`works in ${name}`, () => runs.get(name));
  });
}
