/** Known facts about a print job's action (wire facts 13.1); the service's further actions pass unchecked. */
export interface JobRule {
  /** Job states that allow it, as the service names them; if absent, the service decides. */
  from?: readonly string[];
  /** Acts on waiting jobs, so never on all prints under way. */
  waiting?: true;
  /** Field names in `data`. */
  fields: readonly string[];
}

const RULES: Record<string, JobRule> = {
  pause: { from: ['printing'], fields: [] },
  resume: { from: ['paused'], fields: [] },
  abort: { from: ['pre_print', 'printing', 'pausing', 'paused', 'resuming'], fields: ['quantity'] },
  remove: { from: ['queued', 'error', 'sent_to_printer'], waiting: true, fields: [] },
  force: { waiting: true, fields: [] },
  move: { waiting: true, fields: ['list', 'to_position'] },
  duplicate: { fields: ['quantity'] },
};

/** The rule of an action; undefined for an unknown one. */
export const ruleOf = (action: string): JobRule | undefined =>
  Object.hasOwn(RULES, action) ? RULES[action] : undefined;
