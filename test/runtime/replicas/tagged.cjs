// Loaded into a replica: its requests bear its name, so the service's log shows which replica made a poll.
const { subscribe } = require('node:diagnostics_channel');

/** @param {any} message */
const tag = ({ request }) => request.addHeader('user-agent', process.env.REPLICA);

subscribe('undici:request:create', tag);
