// Preloaded into a replica.
const { subscribe } = require('node:diagnostics_channel');
const { existsSync } = require('node:fs');
const net = require('node:net');

const { REPLICA, DETOURS = '{}', UNREACHED = '', CLOCK_AHEAD = '0' } = process.env;
/** A port that nobody listens on. */
const CLOSED = 1;

// Adds its name to its requests, so that the service's log shows the origin of a poll.
/** @param {any} message */
const tag = ({ request }) => request.addHeader('user-agent', REPLICA);
subscribe('undici:request:create', tag);

// Leads its requests to the service through proxies. The addresses stay the same for all replicas, because state
// belongs to an address.
/** @type {Record<string, number>} */
const detours = JSON.parse(DETOURS);
const { connect } = net;
/** @param {any} to @param {any[]} more */
const detoured = (to, ...more) => {
  const detour = detours[to.port];
  if (detour === undefined) return connect(to, ...more);
  return connect({ ...to, port: existsSync(UNREACHED) ? CLOSED : detour }, ...more);
};
net.connect = /** @type {typeof connect} */ (/** @type {unknown} */ (detoured));

// Sets its wall clock ahead.
const ahead = Number(CLOCK_AHEAD);
const Right = Date;
const now = () => Right.now() + ahead;
if (ahead !== 0)
  globalThis.Date = new Proxy(Right, {
    construct: (target, given, made) => Reflect.construct(target, given.length > 0 ? given : [now()], made),
    apply: () => new Right(now()).toString(),
    get: (target, name) => (name === 'now' ? now : Reflect.get(target, name)),
  });
