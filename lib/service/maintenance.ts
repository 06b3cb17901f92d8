import { flag, number, record, text, time, type Json } from './json-readers';

/** A pending maintenance task of a printer (reference 3.5, query `maintenance`). */
export interface MaintenanceTask {
  isDue: boolean | null;
  /** Due date, as predicted by the service. */
  dueDate: string | null;
  code: string | null;
  type: string | null;
  /** Interval of a recurring task, seconds. */
  interval: number | null;
}

/** Reads a pending task (wire facts 13.2). */
export function readMaintenanceTask(wire: Json): MaintenanceTask {
  const rule = record(wire.task_rule);
  const details = record(rule?.task_details);
  return {
    isDue: flag(wire.is_due),
    dueDate: time(wire.due_date),
    code: text(rule?.code),
    type: text(details?.type),
    interval: number(record(details?.value)?.interval),
  };
}
