import fc from 'fast-check';

/** Payloads of notifications: any JSON, mostly in the shape of a message. */
export const anyPayload = fc.oneof(
  fc.string(),
  fc.json(),
  fc
    .record(
      {
        by: fc.oneof(fc.string(), fc.jsonValue()),
        key: fc.oneof(fc.array(fc.oneof(fc.string(), fc.jsonValue())), fc.jsonValue()),
        topic: fc.oneof(fc.string(), fc.jsonValue()),
      },
      { requiredKeys: [] },
    )
    .map((message) => JSON.stringify(message)),
);
