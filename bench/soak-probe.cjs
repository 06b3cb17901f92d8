// Preloaded into a Node-RED. Prints the memory, handles, timers and listeners in use as one line on each SIGWINCH.
const { EventEmitter } = require('node:events');
const { readdirSync } = require('node:fs');
const v8 = require('node:v8');
const { runInNewContext } = require('node:vm');
/** @type {{ events: import('node:events') }} */
const { events } = /** @type {any} */ (require('@node-red/util'));

const MIB = 1024 * 1024;
v8.setFlagsFromString('--expose-gc');
const collect = runInNewContext('gc');

/** @param {import('node:events')} emitter */
const listeners = (emitter) => emitter.eventNames().reduce((sum, name) => sum + emitter.listenerCount(name), 0);

/** Number of live objects of a class; counting collects garbage first. @param {Function} type */
const alive = (type) => /** @type {any} */ (v8).queryObjects(type, { format: 'count' });

process.on('SIGWINCH', () => {
  collect();
  const resources = process.getActiveResourcesInfo();
  const count = (/** @type {string} */ name) => resources.filter((one) => one === name).length;
  const sample = {
    emitters: alive(EventEmitter),
    signals: alive(AbortSignal),
    timers: count('Timeout'),
    sockets: resources.filter((one) => /TCP|TLS/.test(one)).length,
    files: readdirSync('/proc/self/fd').length,
    listeners: listeners(events) + listeners(/** @type {any} */ (process)),
  };
  collect();
  const { heapUsed, external, rss } = process.memoryUsage();
  const memory = { heap: (heapUsed + external) / MIB, rss: rss / MIB };
  console.log(`SOAK ${JSON.stringify({ ...memory, ...sample })}`);
});
