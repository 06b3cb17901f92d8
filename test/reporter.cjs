const { reporters } = require('mocha');

/** Mocha's own report, closed by the one line that CI reads. */
module.exports = class Reporter extends reporters.Spec {
  /** @override */
  epilogue() {
    super.epilogue();
    const { passes, failures, pending } = this.stats;
    console.log(`${passes} passed, ${failures} failed${pending ? `, ${pending} skipped` : ''}`);
  }
};
