/** What is known of a print job's action (wire facts 13.1); the service has more of them, which pass as they are. */
export interface JobRule {
  /** Job states in which it makes sense, in the service's words; without them the service decides. */
  from?: readonly string[];
  /** Names in `data`. */
  fields: readonly string[];
}

const RULES: Record<string, JobRule> = {
  pause: { from: ['printing'], fields: [] },
  resume: { from: ['paused'], fields: [] },
  abort: { from: ['pre_print', 'printing', 'pausing', 'paused', 'resuming'], fields: ['quantity'] },
  remove: { from: ['queued', 'error', 'sent_to_printer'], fields: [] },
  force: { fields: [] },
  move: { fields: ['list', 'to_position'] },
  duplicate: { fields: ['quantity'] },
};

/** The rule of an action; undefined for one that the facts don't know. */
export const ruleOf = (action: string): JobRule | undefined =>
  Object.hasOwn(RULES, action) ? RULES[action] : undefined;
