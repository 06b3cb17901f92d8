// An ESLint rule: lib/time has the only loop that repeats work with growing waits.

/**
 * @typedef {import('eslint').Rule.Node} Node
 * @typedef {import('estree').CallExpression & { parent: Node }} Call
 */

const LOOPS = ['DoWhileStatement', 'ForInStatement', 'ForOfStatement', 'ForStatement', 'WhileStatement'];

/**
 * Name of a function or method that an expression refers to: `f`, `x.f`, `this.#f`.
 * @returns {string | undefined}
 */
const nameOf = (/** @type {any} */ node) =>
  node?.type === 'MemberExpression' ? nameOf(node.property) : /Identifier$/.test(node?.type) ? node.name : undefined;

const isFunction = (/** @type {any} */ node) => /Function/.test(node?.type);

/** Name of the function that a function expression or declaration defines. */
const nameOfFunction = (/** @type {any} */ node) =>
  nameOf(node.id ?? node.parent.key ?? node.parent.id ?? node.parent.left);

/** Operators that make a wait grow. */
const GROWTH = ['*', '*=', '**', '**=', '<<', '<<='];

/** Whether a wait never grows: `EVERY`. */
const isConstant = (/** @type {any} */ node) => node?.type === 'Identifier' && /^[A-Z\d_]+$/.test(node.name);

/** Functions around a node, the innermost first. */
function functionsAround(/** @type {any} */ node) {
  const found = [];
  for (let at = node.parent; at; at = at.parent) if (isFunction(at)) found.push(at);
  return found;
}

/** @type {import('eslint').Rule.RuleModule} */
export const oneLoop = {
  meta: {
    type: 'problem',
    schema: [],
    messages: {
      own: 'One loop repeats work with growing waits, so that an abort, a deadline and Retry-After end or delay every repeat alike: use retryUntil or pollUntil of lib/time/retry-until. Background work uses RetryTimer of lib/time/retry-timer.',
    },
  },
  create(context) {
    /**
     * Names that each function refers to, by the function and by its name.
     * @type {Map<unknown, Set<string>>}
     */
    const references = new Map();
    /** Functions that multiply. */
    const growing = new Set();
    /** @type {Call[]} */
    const timers = [];
    const report = (/** @type {any} */ node) => context.report({ node, messageId: 'own' });

    /** Whether the code after a wait leads back to a function around the wait, and a wait can grow on the way. */
    const repeats = (/** @type {Call} */ timer) => {
      const around = new Set(functionsAround(timer).flatMap((node) => nameOfFunction(node) ?? []));
      const isSleep = nameOf(timer.callee) === 'sleep';
      const after = isSleep ? functionsAround(timer).slice(0, 1) : timer.arguments;
      const reached = new Set(after.flatMap((node) => [...(references.get(node) ?? [nameOf(node)])]));
      for (const name of reached) for (const next of references.get(name) ?? []) reached.add(next);
      return [around, growing].every((names) => [...names].some((name) => reached.has(name)));
    };
    const namesAround = (/** @type {any} */ node) =>
      functionsAround(node).flatMap((around) => [around, nameOfFunction(around) ?? []].flat());
    const refer = (/** @type {any} */ node) => {
      for (const key of namesAround(node)) references.set(key, (references.get(key) ?? new Set()).add(node.name));
    };
    const grow = (/** @type {any} */ node) => {
      if (GROWTH.includes(node.operator)) for (const key of namesAround(node)) growing.add(key);
    };

    return {
      ImportSpecifier(node) {
        if (nameOf(node.imported) !== 'waitBefore') return;
        for (const variable of context.sourceCode.getDeclaredVariables(node))
          for (const { identifier } of variable.references) report(identifier);
      },
      CallExpression(node) {
        const call = /** @type {Call} */ (node);
        const called = nameOf(call.callee) ?? '';
        if (called === 'sleep' && context.sourceCode.getAncestors(node).some(({ type }) => LOOPS.includes(type)))
          report(node);
        else if (['after', 'setTimeout', 'sleep'].includes(called) && !call.arguments.some(isConstant))
          timers.push(call);
      },
      Identifier: refer,
      PrivateIdentifier: refer,
      BinaryExpression: grow,
      AssignmentExpression: grow,
      'Program:exit'() {
        for (const timer of timers) if (repeats(timer)) report(timer);
      },
    };
  },
};
