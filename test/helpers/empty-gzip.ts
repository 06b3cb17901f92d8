/** Bytes in gzip format that decode to nothing, however many there are. They repeat, so that brotli needs next to none. */
export function emptyGzip(size: number): Buffer {
  const head = Buffer.from([0x1f, 0x8b, 8, 0, 0, 0, 0, 0, 0, 3]);
  return Buffer.concat([head, Buffer.alloc(size, Buffer.from([0, 0, 0, 0xff, 0xff]))]);
}
