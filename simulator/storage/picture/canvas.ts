import { GLYPH_HEIGHT, GLYPH_WIDTH, glyph } from './font';

/** Red, green and blue, each 0 to 255. */
export type Color = readonly [number, number, number];

/** Pixels to draw on; clips anything outside. */
export class Canvas {
  readonly pixels: Uint8Array;

  constructor(
    readonly width: number,
    readonly height: number,
  ) {
    this.pixels = new Uint8Array(3 * width * height);
  }

  set(x: number, y: number, color: Color): void {
    if (x < 0 || x >= this.width || y < 0 || y >= this.height) return;
    const at = 3 * (Math.floor(y) * this.width + Math.floor(x));
    this.pixels[at] = color[0];
    this.pixels[at + 1] = color[1];
    this.pixels[at + 2] = color[2];
  }

  row(left: number, right: number, y: number, color: Color): void {
    const line = Math.floor(y);
    if (line < 0 || line >= this.height) return;
    const [from, to] = [Math.max(0, Math.round(left)), Math.min(this.width, Math.round(right))];
    const [red, green, blue] = color;
    for (let at = 3 * (line * this.width + from); at < 3 * (line * this.width + to); at += 3) {
      this.pixels[at] = red;
      this.pixels[at + 1] = green;
      this.pixels[at + 2] = blue;
    }
  }

  rect(left: number, top: number, width: number, height: number, color: Color): void {
    this.gradient(left, top, width, height, color, color);
  }

  /** Fills a rectangle from one color at the top to another at the bottom. */
  gradient(left: number, top: number, width: number, height: number, from: Color, to: Color): void {
    for (let y = 0; y < height; y++) this.row(left, left + width, top + y, mix(from, to, y / Math.max(1, height - 1)));
  }

  /** Fills a shape with horizontal top and bottom edges, each given by its left and right end. */
  trapezoid(top: number, upper: [number, number], bottom: number, lower: [number, number], color: Color): void {
    for (let y = top; y <= bottom; y++) {
      const share = (y - top) / Math.max(1, bottom - top);
      const [left, right] = [0, 1].map((end) => upper[end]! + (lower[end]! - upper[end]!) * share);
      this.row(left!, right!, y, color);
    }
  }

  /** Writes text in capitals; returns the x after it. */
  text(text: string, left: number, top: number, color: Color, scale = 2): number {
    let x = left;
    for (const letter of text) {
      for (const [line, bits] of glyph(letter).entries())
        for (let column = 0; column < GLYPH_WIDTH; column++)
          if (bits & (1 << (GLYPH_WIDTH - 1 - column)))
            this.rect(x + column * scale, top + line * scale, scale, scale, color);
      x += (GLYPH_WIDTH + 1) * scale;
    }
    return x;
  }

  /** Writes text that ends at `right`. */
  textUpTo(text: string, right: number, top: number, color: Color, scale = 2): void {
    this.text(text, right - textWidth(text, scale), top, color, scale);
  }
}

export const textWidth = (text: string, scale = 2): number => [...text].length * (GLYPH_WIDTH + 1) * scale;
export const textHeight = (scale = 2): number => GLYPH_HEIGHT * scale;

/** Mixes two colors: `share` 0 is the first, 1 the second. */
export function mix(from: Color, to: Color, share: number): Color {
  const part = (index: 0 | 1 | 2): number => Math.round(from[index] + (to[index] - from[index]) * share);
  return [part(0), part(1), part(2)];
}
