import { webAddress } from '../lib/rules/text';
import { connectionTest } from './connection-test';
import { typedText } from './fields';
import { combobox, type Choice } from './combobox';
import { pathsTable } from './paths-table';
import type { EditorNode, Red } from './red';
import { isUnknown, reason, request, UNTOUCHED, type AccountState } from './requests';
import { SignIn } from './sign-in';
import { text } from './texts';

declare const RED: Red;

interface Workspace {
  id: string;
  name: string | null;
}

type AccountNode = EditorNode & { _def: { defaults: object; credentials: object } };

/** Where the service sends the browser after the sign-in: below the editor, as this browser sees it. */
function callbackAddress(): string {
  const editor = new URL(RED.settings.apiRootUrl || '.', location.href);
  return new URL('remote-printing/callback', editor).href;
}

const copy = (value: string, button: JQuery) => RED.clipboard.copyText(value, button, 'clipboard.copyMessageValue');

const field = (name: string) => $(`#node-config-input-${name}`);
const fieldText = (name: string) => typedText(`#node-config-input-${name}`) ?? '';
const part = (name: string) => $(`#remote-printing-${name}`);

/** Brings the dialog of `node` to life; the returned function ends all that it started. */
export function accountDialog(node: AccountNode): () => void {
  let closed = false;
  let asking = false;
  let state: AccountState | undefined;

  const paths = pathsTable(node.paths);
  /** Names of workspaces, as far as they have been listed. */
  const workspaceNames = new Map<string, string | null>();

  const simulated = () => fieldText('service') === 'simulator';
  function showParts(): void {
    const byToken = fieldText('signIn') === 'token';
    $('.remote-printing-remote').toggle(!simulated());
    $('.remote-printing-simulator').toggle(simulated());
    $('.remote-printing-oauth').toggle(!byToken);
    $('.remote-printing-token').toggle(byToken);
    say('');
    part('checks').empty();
    part('test-note').text('');
    showState();
    // Which of them is needed hangs on what was just chosen.
    for (const name of ['authUrl', 'apiUrl']) field(name).trigger('change');
  }

  const redirectUri = () => fieldText('redirectUri').trim() || callbackAddress();
  const showRedirect = () => part('redirect').val(redirectUri());

  /** The properties and credentials as typed so far; a stored secret that was not touched stays with the runtime. */
  function settings(): Record<string, string> {
    const names = [...Object.keys(node._def.defaults), ...Object.keys(node._def.credentials)];
    const typed = names.map((name) => [name, typedText(`#node-config-input-${name}`)] as const);
    const known = typed.filter((pair): pair is [string, string] => pair[1] !== undefined && pair[1] !== UNTOUCHED);
    return { ...Object.fromEntries(known), redirectUri: redirectUri() };
  }

  const say = (sentence: string) => part('said').text(sentence);

  function showState(): void {
    part('state').text(simulated() ? text('state.simulated') : stateText(state));
    part('holder').text(simulated() ? '' : holderText());
    part('state-error').text((!simulated() && state?.error) || '');
    const page = webAddress(state?.simulatorUrl ?? '');
    part('simulator-page').toggle(page !== null);
    part('open-simulator').attr('href', page?.href ?? '');
    part('sign-out').prop('disabled', !state || state.state === 'signed-out');
  }

  /** In which workspace, and until when. */
  function holderText(): string {
    if (state?.state !== 'signed-in') return '';
    const { organizationId, expiresAt } = state;
    const workspace = workspaceNames.get(organizationId ?? '');
    const time = expiresAt && new Date(expiresAt).toLocaleString([], { dateStyle: 'medium', timeStyle: 'short' });
    const sentences = [
      workspace && text('state.workspace', { workspace }),
      time && text(fieldText('signIn') === 'token' ? 'state.until' : 'state.renewed', { time }),
    ];
    return sentences.filter(Boolean).join(' ');
  }

  async function loadWorkspaces(): Promise<Choice[]> {
    const found = await listWorkspaces();
    for (const { id, name } of found) workspaceNames.set(id, name);
    if (!closed) showState();
    return found.map(({ id, name }) => ({
      value: id,
      name: name || id,
      details: [],
      current: id === state?.organizationId,
    }));
  }
  const listWorkspaces = () =>
    request<Workspace[]>('GET', node.id, '/workspaces').catch((failure: unknown) => {
      if (!isUnknown(failure)) throw failure;
      return request<Workspace[]>('POST', node.id, '/typed/workspaces', settings());
    });

  const workspaces = combobox({
    input: field('organizationId'),
    note: part('workspace-note'),
    blank: text('picker.anyWorkspace'),
    load: () => (state?.state === 'signed-in' ? loadWorkspaces() : undefined),
    value: () => fieldText('organizationId'),
    choose: (id) => field('organizationId').val(id).trigger('change'),
  });

  async function askState(): Promise<void> {
    if (asking || closed) return;
    asking = true;
    const before = state;
    try {
      state = await request<AccountState>('GET', node.id, '');
    } catch (failure) {
      state = undefined;
      if (!isUnknown(failure)) say(reason(failure));
    } finally {
      asking = false;
    }
    if (isClosed()) return;
    showState();
    signIn.follow(before, state);
    if (state?.state === 'signed-in' && before?.state !== 'signed-in') void workspaces.refresh();
  }
  const isClosed = () => closed;

  const signIn = new SignIn({
    begin: () => request('POST', node.id, '/sign-in', settings()),
    ask: askState,
    say,
    link: part('authorize'),
    row: part('authorize-row'),
  });

  async function act(path: string, body: object, done: string): Promise<void> {
    let said = done;
    try {
      await request('POST', node.id, path, body);
    } catch (failure) {
      said = reason(failure);
    }
    await askState();
    if (said) say(said);
  }

  async function copyDiagnostics(): Promise<void> {
    try {
      const diagnostics = await request<object>('GET', node.id, '/diagnostics');
      if (!closed) copy(JSON.stringify(diagnostics, null, 2), part('diagnostics'));
    } catch (failure) {
      say(reason(failure));
    }
  }

  connectionTest(node, settings, paths);

  const topic = `remote-printing/accounts/${node.id}`;
  const onNews = () => void askState();
  RED.comms.subscribe(topic, onNews);

  for (const name of ['service', 'signIn']) field(name).on('change', showParts);
  field('redirectUri').on('input change', showRedirect);
  field('organizationId').on('input change', workspaces.show);
  part('redirect-copy').on('click', () => copy(redirectUri(), part('redirect-copy')));
  part('sign-in').on('click', () => {
    const isDeployed = RED.nodes.node(node.id) && !node.changed;
    void signIn.begin(isDeployed ? text('account.signedIn') : text('account.signedInDeploy'));
  });
  part('sign-out').on('click', () => void act('/sign-out', {}, text('account.signedOut')));
  part('complete').on('click', () => {
    const url = typedText('#remote-printing-answer')?.trim() ?? '';
    void act('/sign-in/complete', { url }, '');
  });
  part('diagnostics').on('click', () => void copyDiagnostics());
  part('authorize-row').hide();
  showRedirect();
  showParts();
  void askState();

  return () => {
    closed = true;
    signIn.end();
    RED.comms.unsubscribe(topic, onNews);
  };
}

function stateText(state: AccountState | undefined): string {
  if (!state) return text('state.unknown');
  if (state.state !== 'signed-in') return text(`state.${state.state}`);
  return state.user ? text('state.signed-in-as', { user: state.user }) : text('state.signed-in');
}
