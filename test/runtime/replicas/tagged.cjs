// Preloaded into a replica. Adds its name to its requests, so that the service's log shows the origin of a poll.
const { subscribe } = require('node:diagnostics_channel');

/** @param {any} message */
const tag = ({ request }) => request.addHeader('user-agent', process.env.REPLICA);

subscribe('undici:request:create', tag);
