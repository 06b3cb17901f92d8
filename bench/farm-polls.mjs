/**
 * Figures about a client's polls, from the times of the service's requests.
 * @typedef {object} Polls
 * @property {number} wanted
 * @property {number} made
 * @property {number} rate made in a second
 * @property {number} busiest requests of the busiest second, to the mean of all
 * @property {number} gap longest time without a request of one cluster, in intervals; from the start of the flows on
 */

/**
 * @param {number[][]} asked the times of each cluster's requests, ms
 * @param {import('./farm-service-process.mjs').Span} span
 * @returns {Polls}
 */
export function pollFigures(asked, { began, from, to, interval }) {
  const seconds = new Map();
  let made = 0;
  let gap = 0;
  for (const times of asked) {
    let last = began;
    for (const time of [...times.filter((time) => time >= began && time < to), to]) {
      gap = Math.max(gap, time - last);
      last = time;
    }
    for (const time of times) {
      if (time < from || time >= to) continue;
      made++;
      const second = Math.floor((time - from) / 1000);
      seconds.set(second, (seconds.get(second) ?? 0) + 1);
    }
  }
  const length = (to - from) / 1000;
  return {
    wanted: (asked.length * length * 1000) / interval,
    made,
    rate: made / length,
    busiest: made === 0 ? 0 : Math.max(...seconds.values()) / (made / length),
    gap: gap / interval,
  };
}
