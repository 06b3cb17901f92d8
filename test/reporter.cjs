const { relative } = require('node:path');
const { reporters, Runner } = require('mocha');

const { EVENT_RUN_END, EVENT_TEST_FAIL, EVENT_TEST_PASS } = Runner.constants;

/** With REPORT_LINES a line for each file, when it is done, and one for each failure at once; else mocha's own report. */
const Base = process.env['REPORT_LINES'] ? reporters.Base : reporters.Spec;

const fileOf = (/** @type {import('mocha').Runnable} */ test) =>
  relative(process.cwd(), test.file ?? '').replaceAll('\\', '/');

/** A report whose last line is the sum that CI reads. */
module.exports = class Reporter extends Base {
  /** @param {import('mocha').Runner} runner @param {import('mocha').MochaOptions} options */
  constructor(runner, options) {
    super(runner, options);
    if (process.env['REPORT_LINES']) this.#lines(runner);
  }

  /** @param {import('mocha').Runner} runner */
  #lines(runner) {
    let file = '';
    let passed = 0;
    let began = Date.now();
    const done = () => {
      if (passed > 0) console.log(`${file}: ${passed} passed in ${((Date.now() - began) / 1000).toFixed(1)} s`);
    };
    const enter = (/** @type {import('mocha').Runnable} */ test) => {
      const next = fileOf(test);
      if (next === file) return;
      done();
      [file, passed, began] = [next, 0, Date.now() - (test.duration ?? 0)];
    };
    runner.on(EVENT_TEST_PASS, (/** @type {import('mocha').Test} */ test) => {
      enter(test);
      passed += 1;
    });
    runner.on(EVENT_TEST_FAIL, (/** @type {import('mocha').Test} */ test, /** @type {Error} */ error) => {
      enter(test);
      console.log(`FAILED ${file} › ${test.fullTitle()}: ${error.message.split('\n')[0]}`);
    });
    runner.once(EVENT_RUN_END, () => {
      done();
      this.epilogue();
    });
  }

  /** @override */
  epilogue() {
    super.epilogue();
    const { passes, failures, pending } = this.stats;
    console.log(`${passes} passed, ${failures} failed${pending ? `, ${pending} skipped` : ''}`);
  }
};
