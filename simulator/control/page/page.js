// @ts-nocheck: this runs in a browser; the project's types are those of Node.js.
/* global document, fetch, setTimeout, FormData */
'use strict';

const PERIOD = 2000;

const WAITING = ['queued', 'wait_approval', 'error', 'sent_to_printer', 'wait_user_action'];
const RUNNING = ['sent_to_printer', 'wait_user_action', 'pre_print', 'printing', 'pausing', 'paused', 'resuming'];

/** Buttons of a print job: label, world action and condition. */
const JOB_BUTTONS = [
  ['Pause', 'pause', (job) => job.status === 'printing'],
  ['Resume', 'resume', (job) => job.status === 'paused'],
  ['Stall', 'stall', (job) => job.status === 'printing' && !job.stalled],
  ['Unstall', 'unstall', (job) => job.status === 'printing' && job.stalled],
  ['Abort', 'abort', (job) => RUNNING.includes(job.status)],
  ['Fail', 'fail', (job) => RUNNING.includes(job.status) || ['aborting', 'post_print'].includes(job.status)],
  ['Ask a person', 'ask', (job) => /^(aborted|failed)_post_print$/.test(job.status)],
  ['Answer', 'answer', (job) => /^(aborted|failed)_wait_user_action$/.test(job.status)],
  ['Clear the plate', 'clean', (job) => job.status.endsWith('wait_cleanup')],
  ['Approve', 'approve', (job) => job.status === 'wait_approval'],
  ['Reject', 'reject', (job) => job.status === 'wait_approval'],
  [
    'Release',
    'release',
    (job) =>
      ['queued', 'wait_user_action'].includes(job.status) &&
      (job.held || job.configuration_changes_required.length > 0),
  ],
  ['Remove', 'remove-job', (job) => WAITING.includes(job.status)],
  ['Vanish', 'vanish', () => true],
];

/** Faults on the wire: label and fault. */
const EFFECTS = [
  ['401', { status: 401 }],
  ['403', { status: 403 }],
  ['404', { status: 404 }],
  ['409', { status: 409 }],
  ['429, retry after 5 s', { status: 429, retryAfter: 5 }],
  ['500', { status: 500 }],
  ['503', { status: 503 }],
  ["a proxy's page", { html: true }],
  ['breaks before the work is done', { reset: true }],
  ['breaks after the work is done', { reset: true, when: 'after' }],
  ['half an answer', { cut: 'body' }],
  ['breaks in the middle of the answer', { cut: 'connection' }],
  ['a byte per second, endlessly', { trickle: 1000 }],
  ['5 s late', { delay: 5000 }],
  ['never answers', { hang: true }],
  ['somebody starts a print first', { world: { action: 'print-locally', name: 'By hand.gcode', seconds: 1800 } }],
  ['the printer goes offline afterwards', { when: 'after', world: { action: 'offline', seconds: 3600 } }],
];

/** World actions of the controls on a printer's card, by their `data-set`. */
const SETTINGS = {
  online: (on) => [on ? 'online' : 'offline', {}],
  enabled: (on) => ['enabled', { value: on }],
  authorized: (on) => ['authorized', { value: on }],
  trouble: (value) => ['trouble', { value: value || null }],
  cleaning: (value) => ['cleaning', { value }],
  end_words: (value) => ['end-words', { value }],
  mismatch: (value) => ['mismatch', { value }],
  dispatch: (value) => ['dispatch', { value }],
  actions: (value) => ['actions', value === 'success' ? {} : { outcome: value }],
  changes: (on) => ['required-changes', on ? {} : { value: [] }],
};

/** Changes under way. */
let changing = 0;
/** Changes that ended. */
let changed = 0;

const byId = (id) => document.getElementById(id);
const words = (text) => text.replaceAll('_', ' ');

function showMessage(text, problem = false) {
  const message = byId('message');
  message.classList.toggle('problem', problem);
  // Avoids announcing the same message again.
  if (message.textContent !== text) message.textContent = text;
}

async function send(method, path, body) {
  const answer = await fetch(path, {
    method,
    ...(body ? { headers: { 'content-type': 'application/json' }, body: JSON.stringify(body) } : {}),
  });
  const json = await answer.json();
  if (!answer.ok) throw new Error(json.errors[0].title);
  return json;
}

/** Sends a change, shows its success or failure, and refreshes the page. */
async function change(what, method, path, body) {
  changing += 1;
  try {
    await send(method, path, body);
    showMessage(`Done: ${what}.`);
  } catch (error) {
    showMessage(`${what}: ${error.message}`, true);
  } finally {
    changing -= 1;
    changed += 1;
  }
  await show();
}

const act = (what, name, body) => change(what, 'POST', `/world/${name}`, body);

// Display

/** Updates the children of `list` to match `entries`; keeps existing elements along with their focus. */
function reconcile(list, entries, key, make, update) {
  const old = new Map([...list.children].map((element) => [element.dataset.key, element]));
  entries.forEach((entry, index) => {
    const name = key(entry, index);
    let element = old.get(name);
    old.delete(name);
    if (!element) {
      element = make(entry);
      element.dataset.key = name;
    }
    if (list.children[index] !== element) list.insertBefore(element, list.children[index] ?? null);
    update(element, entry);
  });
  for (const element of old.values()) element.remove();
}

function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const lines = (list, texts) =>
  reconcile(
    list,
    texts,
    (text, index) => `${index} ${text}`,
    () => document.createElement('li'),
    setText,
  );

const fromTemplate = (id) => byId(id).content.firstElementChild.cloneNode(true);

const duration = (seconds) =>
  [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60, seconds % 60]
    .map((part) => String(part).padStart(2, '0'))
    .join(':');

const percent = (job) => (job.time_total > 0 ? Math.floor((100 * job.time_elapsed) / job.time_total) : 0);

function showJob(element, job, cluster) {
  setText(element.querySelector('.name'), job.name);
  const obstacles = job.impediments_to_printing.map(({ translation_key: key }) => key);
  setText(element.querySelector('.status'), [job.status, ...obstacles].map(words).join(', '));
  const progress = element.querySelector('progress');
  progress.value = percent(job);
  progress.setAttribute('aria-label', `Progress of ${job.name}`);
  setText(element.querySelector('.times'), `${duration(job.time_elapsed)} of ${duration(job.time_total)}`);
  const buttons = JOB_BUTTONS.filter(([, , possible]) => possible(job));
  reconcile(
    element.querySelector('.buttons'),
    buttons,
    ([label]) => label,
    ([label, name]) => {
      const button = document.createElement('button');
      button.type = 'button';
      button.textContent = label;
      button.setAttribute('aria-label', `${label}: ${job.name}`);
      button.addEventListener('click', () =>
        act(`${label}: ${job.name}`, name, { cluster: cluster.cluster_id, job: job.uuid }),
      );
      return button;
    },
    () => undefined,
  );
}

function showPicture(figure, printer, cluster) {
  const image = figure.firstElementChild;
  const job = cluster.jobs.find(({ printer_uuid: uuid }) => uuid === printer.uuid);
  const doing = job ? `, ${job.name} ${percent(job)} %` : '';
  image.alt = `${printer.name}: ${words(printer.status)}${doing}`;
  image.src = `${printer.picture}?${Date.now()}`;
}

function makePicture() {
  const figure = document.createElement('figure');
  const image = document.createElement('img');
  // Loads only the pictures in view.
  image.loading = 'lazy';
  figure.append(image);
  return figure;
}

function makePlate({ name, number }, cluster) {
  const item = document.createElement('li');
  const button = document.createElement('button');
  button.type = 'button';
  button.textContent = 'Clear the plate';
  button.setAttribute('aria-label', `Clear the plate: ${name}`);
  button.addEventListener('click', () =>
    act(`Clear the plate: ${name}`, 'clear-plate', { cluster: cluster.cluster_id, printer: number }),
  );
  item.append(`A part is on the plate of ${name}. `, button);
  return item;
}

function makeCluster(cluster) {
  const card = fromTemplate('cluster-template');
  card.addEventListener('change', ({ target }) => {
    const setting = SETTINGS[target.dataset.set];
    if (!setting) return;
    const [name, body] = setting(target.type === 'checkbox' ? target.checked : target.value);
    act(`${card.querySelector('h3').textContent}: ${words(name)}`, name, { cluster: cluster.cluster_id, ...body });
  });
  return card;
}

/** Describes a slot of a material station. */
function slotText({ extruder, material, left, compatible, printing }) {
  if (extruder === null) return 'free';
  const parts = [`extruder ${extruder}`, material ?? 'empty'];
  if (material !== null) parts.push(left === null ? 'unknown rest' : `${left} % left`);
  if (!compatible) parts.push('not compatible');
  if (printing) parts.push('in use');
  return parts.join(', ');
}

function showCluster(card, cluster) {
  card.dataset.cluster = cluster.cluster_id;
  setText(card.querySelector('h3'), cluster.name);
  const faults = cluster.printers.flatMap((printer) => printer.faults);
  const about = [cluster.model, ...cluster.printers.map(({ status }) => words(status)), ...faults];
  setText(card.querySelector('.about'), about.join(' · '));
  setText(card.querySelector('.loaded'), cluster.printers.map(({ loaded }) => loaded).join(' · '));
  const slots = cluster.printers.flatMap((printer) => printer.slots);
  card.querySelector('.slots').hidden = slots.length === 0;
  lines(card.querySelector('.slots'), slots.map(slotText));
  reconcile(
    card.querySelector('.pictures'),
    cluster.printers,
    ({ picture }) => picture,
    makePicture,
    (figure, printer) => showPicture(figure, printer, cluster),
  );
  reconcile(
    card.querySelector('.jobs'),
    cluster.jobs,
    (job) => job.uuid,
    () => fromTemplate('job-template'),
    (element, job) => showJob(element, job, cluster),
  );
  reconcile(
    card.querySelector('.plates'),
    cluster.printers.filter(({ uncleared }) => uncleared),
    ({ number }) => String(number),
    (printer) => makePlate(printer, cluster),
    () => undefined,
  );
  card.querySelector('.none').hidden = cluster.jobs.length > 0;
  card.querySelector('.ended').hidden = cluster.history.length === 0;
  lines(
    card.querySelector('.history'),
    cluster.history.map((job) => `${job.name}: ${words(job.status)}`),
  );
  for (const control of card.querySelectorAll('[data-set]')) {
    // Skips a control in use.
    if (control === document.activeElement && control.type !== 'checkbox') continue;
    const value = cluster[control.dataset.set];
    if (control.type === 'checkbox') control.checked = value;
    else control.value = value;
  }
}

/** Describes the speed of the printers' time. */
function pace(factor) {
  if (factor === 1) return "The printers' times are real.";
  const seconds = Math.round((3600 / factor) * 10) / 10;
  const takes =
    seconds === 60 ? 'a minute' : seconds > 120 ? `${Math.round(seconds / 6) / 10} minutes` : `${seconds} seconds`;
  return `The printers' times run ${factor} times as fast as a clock: an hour takes ${takes}.`;
}

function showAll(world) {
  setText(byId('pace'), pace(world.time_factor));
  reconcile(byId('clusters'), world.clusters, ({ cluster_id: id }) => id, makeCluster, showCluster);
  setText(byId('exchanges'), String(world.tokens.exchanges));
  setText(byId('refreshes'), String(world.tokens.refreshes));
  setText(byId('reuses'), String(world.tokens.reuse_detections));
  choose(byId('expired-status'), String(world.tokens.expired_status));
  choose(byId('upload-mode'), world.upload_mode);
  if (byId('fault-endpoint').length === 0) byId('fault-endpoint').append(...world.endpoints.map(option));
  lines(
    byId('faults'),
    world.faults.map(({ endpoint, times, ...effect }) => `${endpoint}: ${JSON.stringify(effect)}, ${times} left`),
  );
  setText(byId('request-count'), String(world.requests.count));
  lines(
    byId('requests'),
    world.requests.last.map(({ method, endpoint, status }) => `${status || 'no answer'} ${method} ${endpoint}`),
  );
  if (byId('addresses').children.length === 0)
    for (const [name, address] of Object.entries(world.addresses)) {
      const [term, value] = ['dt', 'dd'].map((tag) => document.createElement(tag));
      term.textContent = name;
      value.textContent = address;
      byId('addresses').append(term, value);
    }
}

/** Shows the value unless the control is in use. */
function choose(select, value) {
  if (select !== document.activeElement) select.value = value;
}

function option(value) {
  const element = document.createElement('option');
  element.textContent = value;
  return element;
}

async function show() {
  try {
    const before = changed;
    const world = await send('GET', '/overview');
    // An answer from before a change would turn the control back that the user has just set.
    if (changing === 0 && before === changed) showAll(world);
    if (byId('message').classList.contains('lost')) showMessage('');
    byId('message').classList.remove('lost');
  } catch (error) {
    showMessage(`The simulator does not answer: ${error.message}`, true);
    byId('message').classList.add('lost');
  }
}

async function refresh() {
  if (!document.hidden) await show();
  setTimeout(refresh, PERIOD);
}

// Actions

document.addEventListener('click', ({ target }) => {
  const button = target.closest('button');
  if (!button) return;
  const { act: name, post, body = '{}' } = button.dataset;
  const what = button.textContent.trim();
  if (post) change(what, 'POST', post);
  const cluster = button.closest('[data-cluster]')?.dataset.cluster;
  if (name) act(what, name, { ...(cluster ? { cluster } : {}), ...JSON.parse(body) });
});

byId('expired-status').addEventListener('change', ({ target }) =>
  change('expired tokens', 'POST', '/tokens/expired-status', { status: Number(target.value) }),
);

byId('upload-mode').addEventListener('change', ({ target }) => act('uploads', 'upload-mode', { value: target.value }));

byId('fault-effect').append(...EFFECTS.map(([label]) => option(label)));
byId('fault-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const [label, effect] = EFFECTS[byId('fault-effect').selectedIndex];
  const times = byId('fault-times').value;
  change(`fault added, ${label}`, 'POST', '/faults', {
    endpoint: byId('fault-endpoint').value,
    times: times === 'always' ? times : Number(times),
    ...effect,
  });
});
byId('fault-clear').addEventListener('click', () => change('faults removed', 'DELETE', '/faults'));

byId('report-form').addEventListener('submit', (event) => {
  event.preventDefault();
  const given = Object.fromEntries(new FormData(event.target));
  const { outcome, separator, rows, ...marks } = given;
  act('reports', 'reports', {
    outcome,
    separator: separator === 'tab' ? '\t' : separator,
    ...(rows === '' ? {} : { rows: Number(rows) }),
    ...Object.fromEntries(Object.keys(marks).map((name) => [name, true])),
  });
});

refresh();
