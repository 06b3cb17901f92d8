const { appendFileSync } = require('node:fs');
const { relative } = require('node:path');
const { reporters, Runner } = require('mocha');

const { EVENT_TEST_PASS } = Runner.constants;

/**
 * Mocha's own report, closed by the one line that CI reads. Where REPORT_TITLES names a file, each test that passed adds
 * a line to it, `{"file": "test/…", "title": "…"}`: scripts/check-coverage-table.mjs holds the README to them.
 */
module.exports = class Reporter extends reporters.Spec {
  /** @param {import('mocha').Runner} runner @param {import('mocha').MochaOptions} options */
  constructor(runner, options) {
    super(runner, options);
    const titles = process.env['REPORT_TITLES'];
    if (!titles) return;
    runner.on(EVENT_TEST_PASS, (/** @type {import('mocha').Test} */ test) => {
      const file = relative(process.cwd(), test.file ?? '').replaceAll('\\', '/');
      appendFileSync(titles, `${JSON.stringify({ file, title: test.fullTitle() })}\n`);
    });
  }

  /** @override */
  epilogue() {
    super.epilogue();
    const { passes, failures, pending } = this.stats;
    console.log(`${passes} passed, ${failures} failed${pending ? `, ${pending} skipped` : ''}`);
  }
};
