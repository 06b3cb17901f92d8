export const GLYPH_WIDTH = 5;
export const GLYPH_HEIGHT = 7;

/** Glyphs of seven lines with five pixels each; each line is one base-32 digit. */
const GLYPHS: Record<string, string> = {
  A: 'ehhvhhh',
  B: 'uhhuhhu',
  C: 'ehggghe',
  D: 'uhhhhhu',
  E: 'vgguggv',
  F: 'vgguggg',
  G: 'ehgnhhe',
  H: 'hhhvhhh',
  I: 'e44444e',
  J: '72222ic',
  K: 'hikokih',
  L: 'ggggggv',
  M: 'hrllhhh',
  N: 'hhpljhh',
  O: 'ehhhhhe',
  P: 'uhhuggg',
  Q: 'ehhhlid',
  R: 'uhhukih',
  S: 'fgge11u',
  T: 'v444444',
  U: 'hhhhhhe',
  V: 'hhhhha4',
  W: 'hhhllla',
  X: 'hha4ahh',
  Y: 'hha4444',
  Z: 'v1248gv',
  0: 'ehjlphe',
  1: '4c4444e',
  2: 'eh1248v',
  3: 'v2421he',
  4: '26aiv22',
  5: 'vgu11he',
  6: '68guhhe',
  7: 'v124888',
  8: 'ehhehhe',
  9: 'ehhf12c',
  ' ': '0000000',
  '.': '00000cc',
  ',': '0000c48',
  ':': '0cc0cc0',
  '-': '000e000',
  _: '000000v',
  '/': '01248g0',
  '%': 'op248j3',
  '(': '2488842',
  ')': '8422248',
  '+': '044v440',
  '=': '00v0v00',
  '°': 'ciic000',
  "'": '4400000',
  '!': '4444404',
  '#': 'aavavaa',
};

const UNKNOWN = 'vhhhhhv';

/**
 * Returns the seven lines of a glyph as numbers, the left pixel being the highest of five bits. Lower case becomes
 * upper case.
 */
export function glyph(letter: string): number[] {
  const plain = letter.normalize('NFD').charAt(0).toUpperCase();
  const lines = Object.hasOwn(GLYPHS, plain) ? GLYPHS[plain]! : UNKNOWN;
  return [...lines].map((digit) => parseInt(digit, 32));
}
