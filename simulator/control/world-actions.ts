import { SPOOL } from '../world/spools';
import { CLEANINGS, END_WORDS, MISMATCHES, UPLOAD_MODES } from '../world/state';
import type { JobDetails } from '../world/prints';
import type { StoredJobChange } from '../world/library';
import { isObject } from '../http/bodies';
import type {
  ActionSwitch,
  Cluster,
  Impediment,
  ParsingSwitch,
  PictureSwitch,
  ReportSwitch,
  RequiredChange,
} from '../world/state';
import type { ClusterRef } from '../world/world-base';
import type { World } from '../world/world';
import { readCluster, readMaterial, readSlot } from './new-cluster';
import {
  choice,
  fields,
  flag,
  list,
  number,
  optionalFlag,
  optionalNumber,
  optionalText,
  orNull,
  text,
  texts,
  whole,
  wrong,
  type Body,
  type Reader,
} from './readers';

type Action = (body: Body) => unknown;

/** Actions of the control host by name. */
export type WorldActions = Record<string, Action>;

/**
 * Implements `POST /world/<name>` by the methods of `World`, with named arguments. `cluster` is an id or a number from
 * 1.
 */
export function worldActions(world: World): WorldActions {
  const job =
    (apply: (ref: ClusterRef, uuid: string | undefined) => void): Action =>
    (body) =>
      apply(cluster(body), optionalText(body, 'job'));
  return {
    advance: (body) => world.advance(number(body, 'seconds')),
    pause: job((ref, uuid) => world.pause(ref, uuid)),
    resume: job((ref, uuid) => world.resume(ref, uuid)),
    stall: job((ref, uuid) => world.stall(ref, uuid)),
    unstall: job((ref, uuid) => world.unstall(ref, uuid)),
    abort: job((ref, uuid) => world.abort(ref, uuid)),
    fail: ({ cluster: ref, job: uuid, code, ...body }) =>
      world.fail(
        cluster({ cluster: ref }),
        optionalText({ uuid }, 'uuid'),
        optionalText({ code }, 'code'),
        details(body),
      ),
    'job-details': (body) => world.setJobDetails(cluster(body), details(propertiesOf(body)), optionalText(body, 'job')),
    ask: (body) => world.ask(cluster(body), optionalText(body, 'job'), optionalText(body, 'code')),
    answer: job((ref, uuid) => world.answer(ref, uuid)),
    clean: job((ref, uuid) => world.clean(ref, uuid)),
    'clear-plate': (body) => world.clearPlate(cluster(body), optionalNumber(body, 'printer')),
    'remove-job': job((ref, uuid) => world.removeJob(ref, uuid)),
    approve: job((ref, uuid) => world.approve(ref, uuid)),
    reject: (body) =>
      world.reject(
        cluster(body),
        optionalText(body, 'job'),
        optionalText(body, 'message'),
        body.user === undefined ? undefined : orNull(text)(body, 'user'),
      ),
    release: job((ref, uuid) => world.release(ref, uuid)),
    vanish: job((ref, uuid) => world.vanish(ref, uuid)),
    'print-locally': (body) => {
      const { uuid } = world.printLocally(cluster(body), {
        name: text(body, 'name'),
        seconds: number(body, 'seconds'),
        from: body.from === undefined ? 'usb' : choice(body, 'from', ['usb', 'network', 'cloud']),
        held: optionalFlag(body, 'held') ?? false,
      });
      return { job: uuid };
    },
    online: (body) => world.setOnline(cluster(body), true),
    offline: (body) => world.setOnline(cluster(body), false, optionalNumber(body, 'seconds')),
    authorized: (body) => world.setAuthorized(cluster(body), flag(body, 'value')),
    enabled: (body) => world.setEnabled(cluster(body), flag(body, 'value'), optionalNumber(body, 'printer')),
    trouble: (body) => world.setTrouble(cluster(body), orNull(text)(body, 'value'), optionalNumber(body, 'printer')),
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
    cleaning: (body) => world.setCleaning(cluster(body), choice(body, 'value', CLEANINGS)),
    'end-words': (body) => world.setEndWords(cluster(body), choice(body, 'value', END_WORDS)),
    mismatch: (body) => world.setMismatch(cluster(body), choice(body, 'value', MISMATCHES)),
    'recent-history': (body) => world.setRecentHistory(cluster(body), flag(body, 'value')),
    capabilities: (body) => world.setCapabilities(cluster(body), texts(body, 'value')),
    dispatch: (body) => world.setDispatch(cluster(body), choice(body, 'value', ['queued', 'wait_approval', 'failed'])),
    'required-changes': (body) =>
      world.setRequiredChanges(cluster(body), body.value === undefined ? undefined : changes(body)),
    actions: (body) => world.setActions(cluster(body), fields<ActionSwitch>(propertiesOf(body), ACTION_SWITCH)),
    picture: (body) => world.setPicture(cluster(body), fields<PictureSwitch>(propertiesOf(body), PICTURE_SWITCH)),
    reports: (body) => world.setReports(fields<ReportSwitch>(propertiesOf(body), REPORT_SWITCH)),
    parsing: (body) => world.setParsing(fields<ParsingSwitch>(propertiesOf(body), PARSING_SWITCH)),
    'upload-mode': (body) => world.setUploadMode(choice(body, 'value', UPLOAD_MODES)),
    'maintenance-due': (body) => world.setMaintenanceDue(cluster(body), texts(body, 'value')),
    memberships: (body) => world.setMemberships(choice(body, 'value', ['ids', 'objects'])),
    'display-status': (body) => world.setDisplayStatus(cluster(body), orNull(text)(body, 'value')),
    name: (body) => world.setName(cluster(body), body.value === null ? null : text(body, 'value')),
    note: (body) => world.setNote(cluster(body), body.value === null ? null : text(body, 'value')),
    load: (body) =>
      world.load(
        cluster(body),
        whole(body, 'extruder'),
        body.material === null ? null : readMaterial(body),
        optionalVolume(body),
        optionalNumber(body, 'printer'),
      ),
    slot: ({ slot, printer, ...body }) =>
      world.setSlot(
        cluster(body),
        whole({ slot }, 'slot'),
        body.extruder === null ? null : readSlot(propertiesOf(body)),
        optionalNumber({ printer }, 'printer'),
      ),
    'print-core': (body) =>
      world.setPrintCore(
        cluster(body),
        whole(body, 'extruder'),
        orNull(text)(body, 'value'),
        optionalNumber(body, 'printer'),
      ),
    'build-plate': (body) => world.setBuildPlate(cluster(body), text(body, 'value'), optionalNumber(body, 'printer')),
    'add-cluster': (body) => ({ cluster: world.addCluster(readCluster(propertiesOf(body))) }),
    'remove-cluster': (body) => world.removeCluster(cluster(body)),
    rebind: (body) => ({ cluster: world.rebind(cluster(body)) }),
    'stored-job': ({ job, ...body }) =>
      world.setStoredJob(text({ job }, 'job'), fields<StoredJobChange>(body, STORED_JOB)),
    'remove-stored-job': (body) => world.removeStoredJob(text(body, 'job')),
    'remove-library-file': (body) => world.removeLibraryFile(text(body, 'file')),
  };
}

const JOB_DETAILS: Record<keyof JobDetails, Reader> = {
  impediments: list(impediment),
  statusDetail: text,
  statusMessage: text,
  user: orNull(text),
};
const details = (body: Body): JobDetails => fields<JobDetails>(body, JOB_DETAILS);

function impediment(body: Body, name: string): Impediment {
  const value = body[name];
  if (!isObject(value)) throw wrong(name, 'a list of objects');
  return { translation_key: text(value, 'translation_key'), severity: text(value, 'severity') };
}

const STORED_JOB: Record<keyof StoredJobChange, Reader> = {
  name: text,
  username: orNull(text),
  libraryProjectId: orNull(text),
  parsing: (body, name) => choice(body, name, ['success', 'failed', 'pending']),
  failure: orNull(text),
};

const OUTCOMES = ['success', 'failed', 'unknown', 'stuck'] as const;
const ACTION_SWITCH: Record<keyof ActionSwitch, Reader> = {
  outcome: (body, name) => choice(body, name, [...OUTCOMES, 'silent']),
  seconds: number,
  offline: (body, name) => choice(body, name, ['refused', 'waits']),
};
const PICTURE_SWITCH: Record<keyof PictureSwitch, Reader> = { bytes: whole, contentType: text, chunked: flag };
const PARSING_SWITCH: Record<keyof ParsingSwitch, Reader> = {
  outcome: (body, name) => choice(body, name, ['success', 'failed', 'stuck']),
  seconds: number,
};
const REPORT_SWITCH: Record<keyof ReportSwitch, Reader> = {
  outcome: (body, name) => choice(body, name, OUTCOMES),
  seconds: number,
  separator: (body, name) => choice(body, name, [',', ';', '\t']),
  bom: flag,
  crlf: flag,
  hardNames: flag,
  repeatedColumns: flag,
  rows: whole,
  cutAfter: whole,
};

/** Returns a body without the names of what it concerns. */
function propertiesOf({ cluster: _cluster, job: _job, ...body }: Body): Body {
  return body;
}

function cluster(body: Body): ClusterRef {
  const value = body.cluster;
  if (typeof value === 'string' || (typeof value === 'number' && Number.isInteger(value))) return value;
  throw wrong('cluster', 'an id or a number from 1');
}

function optionalVolume(body: Body): number | undefined {
  if (body.volumeLeft === undefined) return undefined;
  const value = number(body, 'volumeLeft');
  if (value > SPOOL) throw wrong('volumeLeft', `a number from 0 to ${SPOOL}, a full spool in mm³`);
  return value;
}

function changes(body: Body): RequiredChange[] {
  if (!Array.isArray(body.value)) throw wrong('value', 'a list of required changes');
  return body.value as RequiredChange[];
}
