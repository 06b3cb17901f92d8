const { configureGlobal } = require('fast-check');

/**
 * Property tests use one fixed seed, so a failure of `npm test` is always one of the change at hand. PROPERTY_SEED=random
 * (or a number) searches elsewhere; a failure then prints its seed.
 */
const FIXED = 20_261_122;
const wanted = process.env['PROPERTY_SEED'] ?? String(FIXED);

if (wanted !== 'random') configureGlobal({ seed: Number(wanted) });
