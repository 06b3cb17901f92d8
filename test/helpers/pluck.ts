/** The values of one property. */
export const pluck = <T, K extends keyof T>(list: readonly T[], name: K): T[K][] => list.map((one) => one[name]);
