/** Rules for the printing time in slicers' comments. Each rule covers one family of slicers; the first match wins. */
const RULES: readonly { pattern: RegExp; unit: 's' | 'min' | 'words' | 'clock' }[] = [
  // Cura, Griffin header
  { pattern: /^;PRINT\.TIME:\s*(\d+(?:\.\d+)?)/m, unit: 's' },
  // Cura, Marlin and RepRap flavours
  { pattern: /^;TIME:\s*(\d+(?:\.\d+)?)/m, unit: 's' },
  // Bambu Studio, OrcaSlicer: the total including warm-up precedes the model time
  { pattern: /^;.*\btotal estimated time:\s*([\dhmsd .]+)/m, unit: 'words' },
  { pattern: /^;.*\bmodel printing time:\s*([\dhmsd .]+)/m, unit: 'words' },
  // PrusaSlicer, SuperSlicer, OrcaSlicer; Slic3r PE without the mode
  { pattern: /^; estimated printing time(?: \(normal mode\))? = ([\dhmsd .]+)/m, unit: 'words' },
  // Simplify3D
  { pattern: /^;[ \t]+Build time:[ \t]*([\w .]+)/im, unit: 'words' },
  // ideaMaker
  { pattern: /^;Print Time:\s*(\d+(?:\.\d+)?)\s*$/m, unit: 's' },
  // KISSlicer
  { pattern: /^; (?:Calculated.*|Estimated )Build Time:\s*(\d+(?:\.\d+)?) minutes/m, unit: 'min' },
  // MatterControl
  { pattern: /^; total print time \(s\) = (\d+(?:\.\d+)?)/m, unit: 's' },
  // Kiri:Moto
  { pattern: /^; --- print time: (\d+(?:\.\d+)?)s/m, unit: 's' },
  // Luban
  { pattern: /^;estimated_time\(s\):\s*(\d+(?:\.\d+)?)/m, unit: 's' },
  // Slic3r forks that write hh:mm:ss
  { pattern: /^;[ \t]*(?:estimated )?print(?:ing)? time[ \t]*[:=][ \t]*(\d+:\d\d:\d\d)/im, unit: 'clock' },
];

const SECONDS = { d: 86_400, h: 3600, m: 60, s: 1 } as const;

/**
 * Returns the printing time in whole seconds, at least 1; `undefined` without a comment. `text` may consist of the
 * file's head and tail.
 */
export function printSeconds(text: string): number | undefined {
  for (const { pattern, unit } of RULES) {
    const value = pattern.exec(text)?.[1];
    if (value === undefined) continue;
    const seconds = toSeconds(value, unit);
    if (seconds > 0) return Math.max(1, Math.round(seconds));
  }
  return undefined;
}

function toSeconds(value: string, unit: 's' | 'min' | 'words' | 'clock'): number {
  switch (unit) {
    case 's':
      return Number(value);
    case 'min':
      return Number(value) * 60;
    case 'words':
      // 1d 2h 3m 4s, or 1 hour 2 minutes
      return [...value.matchAll(/(\d+(?:\.\d+)?)\s*([dhms])/gi)].reduce(
        (sum, [, count, letter]) => sum + Number(count) * SECONDS[letter!.toLowerCase() as keyof typeof SECONDS],
        0,
      );
    case 'clock':
      return value.split(':').reduce((sum, part) => sum * 60 + Number(part), 0);
  }
}

/** Guesses the printing time of a file without a comment: one minute to two days. */
export function guessSeconds(bytes: number, packed: boolean): number {
  return Math.round(Math.min(172_800, Math.max(60, (packed ? 4 * bytes : bytes) / 1000)));
}
