import { MODELS } from '../world/models';
import { Refusal } from '../http/refusals';
import { SPOOL } from '../world/spools';
import { UPLOAD_MODES } from '../world/state';
import type { ActionSwitch, Cluster, Material, PictureSwitch, ReportSwitch, RequiredChange } from '../world/state';
import type { ClusterRef } from '../world/world-base';
import type { World } from '../world/world';

type Body = Record<string, unknown>;
type Action = (body: Body) => unknown;

/**
 * Implements `POST /world/<name>` by the methods of `World`, with named arguments. `cluster` is an id or a number from
 * 1.
 */
export function worldActions(world: World): Record<string, Action> {
  const job =
    (apply: (ref: ClusterRef, uuid: string | undefined) => void): Action =>
    (body) =>
      apply(cluster(body), optionalText(body, 'job'));
  return {
    advance: (body) => world.advance(number(body, 'seconds')),
    pause: job((ref, uuid) => world.pause(ref, uuid)),
    resume: job((ref, uuid) => world.resume(ref, uuid)),
    abort: job((ref, uuid) => world.abort(ref, uuid)),
    fail: (body) => world.fail(cluster(body), optionalText(body, 'job'), optionalText(body, 'code')),
    clean: job((ref, uuid) => world.clean(ref, uuid)),
    approve: job((ref, uuid) => world.approve(ref, uuid)),
    reject: (body) => world.reject(cluster(body), optionalText(body, 'job'), optionalText(body, 'message')),
    release: job((ref, uuid) => world.release(ref, uuid)),
    vanish: job((ref, uuid) => world.vanish(ref, uuid)),
    'print-locally': (body) => {
      const { uuid } = world.printLocally(cluster(body), {
        name: text(body, 'name'),
        seconds: number(body, 'seconds'),
      });
      return { job: uuid };
    },
    online: (body) => world.setOnline(cluster(body), true),
    offline: (body) => world.setOnline(cluster(body), false),
    authorized: (body) => world.setAuthorized(cluster(body), flag(body, 'value')),
    enabled: (body) => world.setEnabled(cluster(body), flag(body, 'value')),
    trouble: (body) => world.setTrouble(cluster(body), body.value === null ? null : text(body, 'value')),
    'add-fault': (body) => {
      const details = { message: optionalText(body, 'message'), severity: optionalText(body, 'severity') };
      const given = Object.fromEntries(Object.entries(details).filter(([, value]) => value !== undefined));
      return { fault: world.addFault(cluster(body), { code: text(body, 'code'), ...given }).uuid };
    },
    'clear-faults': (body) => world.clearFaults(cluster(body)),
    firmware: (body) => {
      const firmware: Partial<Cluster['firmware']> = {};
      if (body.version !== undefined) firmware.version = text(body, 'version');
      if (body.latest !== undefined) firmware.latest = body.latest === null ? null : text(body, 'latest');
      if (body.updateStatus !== undefined) firmware.updateStatus = text(body, 'updateStatus');
      world.setFirmware(cluster(body), firmware);
    },
    cleaning: (body) => world.setCleaning(cluster(body), choice(body, 'value', ['automatic', 'manual'])),
    'recent-history': (body) => world.setRecentHistory(cluster(body), flag(body, 'value')),
    capabilities: (body) => world.setCapabilities(cluster(body), texts(body, 'value')),
    dispatch: (body) => world.setDispatch(cluster(body), choice(body, 'value', ['queued', 'wait_approval', 'failed'])),
    'required-changes': (body) =>
      world.setRequiredChanges(cluster(body), body.value === undefined ? undefined : changes(body)),
    actions: (body) => world.setActions(cluster(body), switches<ActionSwitch>(body, ACTION_SWITCH)),
    picture: (body) => world.setPicture(cluster(body), switches<PictureSwitch>(body, PICTURE_SWITCH)),
    reports: (body) => world.setReports(switches<ReportSwitch>(body, REPORT_SWITCH)),
    'upload-mode': (body) => world.setUploadMode(choice(body, 'value', UPLOAD_MODES)),
    'maintenance-due': (body) => world.setMaintenanceDue(cluster(body), texts(body, 'value')),
    memberships: (body) => world.setMemberships(choice(body, 'value', ['ids', 'objects'])),
    name: (body) => world.setName(cluster(body), body.value === null ? null : text(body, 'value')),
    note: (body) => world.setNote(cluster(body), body.value === null ? null : text(body, 'value')),
    load: (body) => world.load(cluster(body), whole(body, 'extruder'), spool(body), optionalVolume(body)),
    'print-core': (body) =>
      world.setPrintCore(cluster(body), whole(body, 'extruder'), body.value === null ? null : text(body, 'value')),
    'add-cluster': (body) => {
      const options: Parameters<World['addCluster']>[0] = {};
      if (body.name !== undefined) options.name = text(body, 'name');
      if (body.model !== undefined)
        options.model = choice(
          body,
          'model',
          MODELS.map(({ id }) => id),
        );
      if (body.printers !== undefined) options.printers = number(body, 'printers');
      if (body.organizationId !== undefined) options.organizationId = text(body, 'organizationId');
      return { cluster: world.addCluster(options) };
    },
    'remove-cluster': (body) => world.removeCluster(cluster(body)),
    rebind: (body) => ({ cluster: world.rebind(cluster(body)) }),
    'remove-stored-job': (body) => world.removeStoredJob(text(body, 'job')),
    'remove-library-file': (body) => world.removeLibraryFile(text(body, 'file')),
  };
}

type Reader = (body: Body, name: string) => unknown;

const OUTCOME: Reader = (body, name) => choice(body, name, ['success', 'failed', 'unknown', 'stuck']);
const ACTION_SWITCH: Record<keyof ActionSwitch, Reader> = { outcome: OUTCOME, seconds: number };
const PICTURE_SWITCH: Record<keyof PictureSwitch, Reader> = { bytes: whole, contentType: text, chunked: flag };
const REPORT_SWITCH: Record<keyof ReportSwitch, Reader> = {
  ...ACTION_SWITCH,
  separator: (body, name) => choice(body, name, [',', ';', '\t']),
  bom: flag,
  crlf: flag,
  hardNames: flag,
  repeatedColumns: flag,
  rows: whole,
  cutAfter: whole,
};

/** Reads the fields of a switch, all of which are optional; throws for unknown fields. */
function switches<T>(body: Body, readers: Record<string, Reader>): T {
  const names = Object.keys(body).filter((name) => name !== 'cluster');
  const unknown = names.find((name) => !Object.hasOwn(readers, name));
  if (unknown !== undefined) throw wrong(unknown, `one of ${Object.keys(readers).join(', ')}`);
  return Object.fromEntries(names.map((name) => [name, readers[name]!(body, name)])) as T;
}

function cluster(body: Body): ClusterRef {
  const value = body.cluster;
  if (typeof value === 'string' || (typeof value === 'number' && Number.isInteger(value))) return value;
  throw wrong('cluster', 'an id or a number from 1');
}

function text(body: Body, name: string): string {
  const value = body[name];
  if (typeof value !== 'string' || value === '') throw wrong(name, 'a string');
  return value;
}

const optionalText = (body: Body, name: string): string | undefined =>
  body[name] === undefined ? undefined : text(body, name);

function number(body: Body, name: string): number {
  const value = body[name];
  if (typeof value !== 'number' || !(value >= 0)) throw wrong(name, 'a number from 0');
  return value;
}

function optionalVolume(body: Body): number | undefined {
  if (body.volumeLeft === undefined) return undefined;
  const value = number(body, 'volumeLeft');
  if (value > SPOOL) throw wrong('volumeLeft', `a number from 0 to ${SPOOL}, a full spool in mm³`);
  return value;
}

/** Reads a material; null for an empty bay. */
function spool(body: Body): Partial<Material> | null {
  if (body.material === null) return null;
  const given = ['guid', 'brand', 'color', 'material'].filter((name) => body[name] !== undefined);
  return Object.fromEntries(given.map((name) => [name, text(body, name)]));
}

function whole(body: Body, name: string): number {
  const value = number(body, name);
  if (!Number.isInteger(value)) throw wrong(name, 'a whole number from 0');
  return value;
}

function flag(body: Body, name: string): boolean {
  const value = body[name];
  if (typeof value !== 'boolean') throw wrong(name, 'true or false');
  return value;
}

function choice<T extends string>(body: Body, name: string, values: readonly T[]): T {
  const found = values.find((value) => value === body[name]);
  if (found === undefined) throw wrong(name, `one of ${values.join(', ')}`);
  return found;
}

function texts(body: Body, name: string): string[] {
  const value = body[name];
  if (!Array.isArray(value) || !value.every((entry) => typeof entry === 'string'))
    throw wrong(name, 'a list of strings');
  return value;
}

function changes(body: Body): RequiredChange[] {
  if (!Array.isArray(body.value)) throw wrong('value', 'a list of required changes');
  return body.value as RequiredChange[];
}

const wrong = (name: string, rule: string): Refusal => new Refusal(400, 'badRequest', `${name} must be ${rule}.`);
