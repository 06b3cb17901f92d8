import { webAddress } from '../lib/rules/text';
import { connectionTest } from './connection-test';
import { fillDefaults, showVariable, typedText } from './fields';
import { combobox, type Choice } from './combobox';
import { pathsTable } from './paths-table';
import type { EditorNode, Red } from './red';
import { isUnknown, reason, request, UNTOUCHED, type ShownState } from './requests';
import { SignIn } from './sign-in';
import { text } from './texts';

declare const RED: Red;

interface Workspace {
  id: string;
  name: string | null;
}

/** Names of workspaces from all lists so far: the service names only the workspace of the sign-in. */
const workspaceNames = new Map<string, string>();

/** State of an account that the runtime doesn't know, before any sign-in. */
const NEW: ShownState = {
  state: 'signed-out',
  user: null,
  organizationId: null,
  expiresAt: null,
  simulatorUrl: null,
  error: null,
};

type AccountNode = EditorNode & { _def: { credentials: object } };

/** Address that the service redirects to after the sign-in: below the editor's address in this browser. */
function callbackAddress(): string {
  const editor = new URL(RED.settings.apiRootUrl || '.', location.href);
  return new URL('remote-printing/callback', editor).href;
}

const copy = (value: string, button: JQuery) => RED.clipboard.copyText(value, button, 'clipboard.copyMessageValue');

const field = (name: string) => $(`#node-config-input-${name}`);
const fieldText = (name: string) => typedText(`#node-config-input-${name}`) ?? '';
const part = (name: string) => $(`#remote-printing-${name}`);

/** Fields whose change makes earlier results meaningless. */
const SETTINGS = '[id^="node-config-input-"], #remote-printing-paths input';

/** Ends everything that the open dialog started. */
let close: (() => void) | undefined;

export function closeAccountDialog(): void {
  close?.();
  close = undefined;
}

export function openAccountDialog(node: AccountNode): void {
  closeAccountDialog();
  fillDefaults(node);
  showVariable(node, 'metrics');
  close = initialize(node);
}

/** Initializes the dialog of `node`; the returned function ends everything that it started. */
function initialize(node: AccountNode): () => void {
  let closed = false;
  let asking: Promise<void> | undefined;
  let state: ShownState | undefined;
  /** Error of the account that a later change of the settings, or a test, has overtaken. */
  let overtaken: string | null = null;

  const paths = pathsTable(node.paths);

  const simulated = () => fieldText('service') === 'simulator';
  const byToken = () => fieldText('signIn') === 'token';
  const isBlank = () => fieldText('authUrl') === '' && fieldText('apiUrl') === '';
  function showParts(): void {
    $('.remote-printing-remote').toggle(!simulated());
    $('.remote-printing-simulator').toggle(simulated());
    $('.remote-printing-oauth').toggle(!byToken());
    $('.remote-printing-token').toggle(byToken());
    forget();
    // The choice changes which of these fields is required.
    for (const name of ['authUrl', 'apiUrl']) field(name).trigger('change');
    void askState();
  }

  const redirectUri = () => fieldText('redirectUri').trim() || callbackAddress();
  function showRedirect(): void {
    part('redirect').val(redirectUri());
    const why = whyPasted(redirectUri());
    part('paste-why').text(why ? text(why) : '');
    part('use-token').toggle(why !== null);
    if (why) part('paste').prop('open', true);
  }

  /** The typed properties and credentials; untouched stored secrets stay in the runtime. */
  function settings(): Record<string, string> {
    const names = [...Object.keys(node._def.defaults), ...Object.keys(node._def.credentials)];
    const typed = names.map((name) => [name, typedText(`#node-config-input-${name}`)] as const);
    const known = typed.filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== UNTOUCHED);
    return { ...Object.fromEntries(known), redirectUri: redirectUri() };
  }

  const showMessage = (sentence: string) => part('said').text(sentence);

  /** Removes what was said about earlier settings. */
  function forget(): void {
    overtaken = state?.error ?? null;
    showMessage('');
    connection.clear();
    part('no-account').toggle(!simulated() && isBlank());
    showState();
  }

  function showState(): void {
    part('state').text(simulated() ? text('state.simulated') : stateText(state, byToken()));
    part('holder').text(simulated() ? '' : holderText());
    const error = state?.error ?? null;
    if (error !== overtaken) overtaken = null;
    part('state-error').text(simulated() || error === overtaken ? '' : (error ?? ''));
    const page = webAddress(state?.simulatorUrl ?? '');
    part('simulator-page').toggle(page !== null);
    part('open-simulator').attr('href', page?.href ?? '');
    part('sign-out').prop('disabled', !state || state.state === 'signed-out');
  }

  /** Describes the workspace and the expiry of the sign-in. */
  function holderText(): string {
    if (state?.state !== 'signed-in') return '';
    const { organizationId, expiresAt } = state;
    const name = workspaceNames.get(organizationId ?? '');
    const time = expiresAt && new Date(expiresAt).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
    const sentences = [
      name ? text('state.workspace', { workspace: name }) : unnamed(organizationId),
      time && text(byToken() ? 'state.until' : 'state.renewed', { time }),
    ];
    return sentences.filter(Boolean).join(' ');
  }

  /** Describes an unnamed workspace; empty until the list, which may contain the name, has loaded. */
  const unnamed = (id: string | null) => id && listed.has(id) && text('state.workspaceId', { id });
  const listed = new Set<string>();

  async function loadWorkspaces(): Promise<Choice[]> {
    const found = await listWorkspaces();
    for (const { id, name } of found) {
      listed.add(id);
      if (name) workspaceNames.set(id, name);
    }
    if (!closed) showState();
    return found.map(({ id }) => {
      const name = workspaceNames.get(id);
      const details = name ? [] : [text('picker.unvisited')];
      return { value: id, name: name ?? id, details, current: id === state?.organizationId };
    });
  }

  /** Asks the running account, unless it is simulated: it wouldn't know the typed service. */
  async function listWorkspaces(): Promise<Workspace[]> {
    const typed = () => request<Workspace[]>('POST', node.id, '/typed/workspaces', settings());
    if (node.service === 'simulator') return typed();
    return request<Workspace[]>('GET', node.id, '/workspaces').catch((failure: unknown) => {
      if (!isUnknown(failure)) throw failure;
      return typed();
    });
  }

  const workspaces = combobox({
    input: field('organizationId'),
    note: part('workspace-note'),
    blank: text('picker.anyWorkspace'),
    load: () => (state?.state === 'signed-in' && !simulated() ? loadWorkspaces() : undefined),
    value: () => fieldText('organizationId'),
    choose: (id) => {
      field('organizationId').val(id).trigger('change');
      forget();
    },
  });

  /** Single-flight: joins the request in flight. */
  const askState = (): Promise<void> =>
    (asking ??= askOnce().finally(() => {
      asking = undefined;
    }));

  async function askOnce(): Promise<void> {
    if (closed) return;
    const before = state;
    const typed = () => new URLSearchParams(['service', 'signIn', 'authUrl'].map((name) => [name, fieldText(name)]));
    const query = typed().toString();
    try {
      state = await request<ShownState>('GET', node.id, `?${query}`);
    } catch (failure) {
      state = isUnknown(failure) ? NEW : undefined;
      if (!isUnknown(failure)) showMessage(reason(failure));
    }
    if (isClosed()) return;
    // The settings changed during the request.
    if (typed().toString() !== query) return askOnce();
    showState();
    signIn.follow(before, state);
    const isOther = before?.state !== state?.state || before?.organizationId !== state?.organizationId;
    if (state?.state === 'signed-in' && isOther) void workspaces.refresh();
  }
  const isClosed = () => closed;

  const signIn = new SignIn({
    begin: () => request('POST', node.id, '/sign-in', settings()),
    ask: askState,
    showMessage,
    link: part('authorize'),
    row: part('authorize-row'),
  });

  async function act(path: string, body: object, done: string): Promise<void> {
    let message = done;
    try {
      await request('POST', node.id, path, body);
    } catch (failure) {
      message = reason(failure);
    }
    await askState();
    if (message) showMessage(message);
  }

  async function copyDiagnostics(): Promise<void> {
    try {
      const diagnostics = await request<object>('GET', node.id, '/diagnostics');
      if (!closed) copy(JSON.stringify(diagnostics, null, 2), part('diagnostics'));
    } catch (failure) {
      showMessage(reason(failure));
    }
  }

  const connection = connectionTest(node, settings, paths, () => {
    overtaken = state?.error ?? null;
    showState();
  });

  const topic = `remote-printing/accounts/${node.id}`;
  const onNews = () => void askState();
  RED.comms.subscribe(topic, onNews);

  for (const name of ['service', 'signIn']) field(name).on('change', showParts);
  // Reacts to user input only, since `showParts` triggers the event for validation.
  field('authUrl').on('change', (event) => void (event.originalEvent && askState()));
  field('redirectUri').on('input change', showRedirect);
  // Only what a person changes: the dialog triggers these events, too.
  $('.remote-printing-form').on('input change', SETTINGS, (event) => {
    if (event.originalEvent) forget();
  });
  field('organizationId').on('input change', workspaces.show);
  part('redirect-copy').on('click', () => copy(redirectUri(), part('redirect-copy')));
  part('sign-in').on('click', () => {
    overtaken = null;
    const isDeployed = RED.nodes.node(node.id) && !node.changed;
    void signIn.begin(isDeployed ? text('account.signedIn') : text('account.signedInDeploy'));
  });
  part('use-token')
    .find('button')
    .on('click', () => field('signIn').val('token').trigger('change').trigger('focus'));
  part('sign-out').on('click', () => void act('/sign-out', {}, text('account.signedOut')));
  part('complete').on('click', () => {
    const url = typedText('#remote-printing-answer')?.trim() ?? '';
    void act('/sign-in/complete', { url }, '');
  });
  part('diagnostics').on('click', () => void copyDiagnostics());
  part('authorize-row').hide();
  showRedirect();
  showParts();

  return () => {
    closed = true;
    signIn.end();
    RED.comms.unsubscribe(topic, onNews);
  };
}

function stateText(state: ShownState | undefined, byToken: boolean): string {
  if (!state) return text('state.unknown');
  if (byToken && state === NEW) return text('state.unchecked');
  if (state.state !== 'signed-in') return text(`state.${state.state}`);
  return state.user ? text('state.signed-in-as', { user: state.user }) : text('state.signed-in');
}

/** Key of the text that explains why the browser can't return from the sign-in; null if it can. */
function whyPasted(redirectUri: string): string | null {
  const target = webAddress(redirectUri);
  if (!target) return null;
  if (target.hostname !== location.hostname) return 'account.otherHost';
  // Home Assistant shows an add-on only within its own page, and refuses a redirect from another site.
  return target.pathname.startsWith('/api/hassio_ingress/') ? 'account.ingress' : null;
}
