import { webAddress } from '../lib/rules/text';
import { connectionTest } from './connection-test';
import { typedInput } from './inputs';
import { typedText } from './fields';
import { picker } from './picker';
import type { EditorNode, Red } from './red';
import { accountList, reason, request, statusOf, type AccountState } from './requests';
import { text } from './texts';

declare const RED: Red;

/** What Node-RED shows in place of a stored password. */
const UNTOUCHED = '__PWRD__';
const ASK_EVERY = 1500;

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
  let timer: number | undefined;
  let asking = false;
  /** What to say once a sign-in that was begun here has ended; blank while there is none. */
  let afterSignIn = '';
  let state: AccountState | undefined;

  typedInput('node-config-input-paths', { types: ['json'] });

  const simulated = () => fieldText('service') === 'simulator';
  function showParts(): void {
    const byToken = fieldText('signIn') === 'token';
    $('.remote-printing-remote').toggle(!simulated());
    $('.remote-printing-simulator').toggle(simulated());
    $('.remote-printing-oauth').toggle(!byToken);
    $('.remote-printing-token').toggle(byToken);
    say('');
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
    part('state-error').text(simulated() ? '' : errorText(state));
    const page = webAddress(state?.simulatorUrl ?? '');
    part('simulator-page').toggle(page !== null);
    part('open-simulator').attr('href', page?.href ?? '');
    part('sign-out').prop('disabled', !state || state.state === 'signed-out');
  }

  const workspaces = picker({
    select: part('workspace'),
    note: part('workspace-note'),
    blank: text('picker.anyWorkspace'),
    load: () =>
      accountList(node.id, '/workspaces', ({ id, name }: { id: string; name: string | null }) => ({
        value: id,
        label: name || id,
      })),
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
      if (statusOf(failure) !== 404) say(reason(failure));
    } finally {
      asking = false;
    }
    if (isClosed()) return;
    showState();
    if (state?.state !== 'signed-in') return;
    if (before?.state !== 'signed-in') void workspaces.refresh();
    // A sign-in while signed in shows by its new tokens alone.
    const isNew = before?.state !== 'signed-in' || before.expiresAt !== state.expiresAt;
    if (!afterSignIn || !isNew) return;
    part('authorize-row').hide();
    say(afterSignIn);
    afterSignIn = '';
  }
  const isClosed = () => closed;

  function poll(): void {
    clearTimeout(timer);
    timer = window.setTimeout(() => void askState().finally(() => !closed && poll()), ASK_EVERY);
  }

  async function signIn(): Promise<void> {
    // Opened within the click, for later the browser would block it.
    const page = window.open('about:blank', '_blank', 'width=640,height=800');
    if (page) page.opener = null;
    say(text('account.signingIn'));
    afterSignIn = state ? text('account.signedIn') : text('account.signedInDeploy');
    try {
      const { authorizeUrl } = await request<{ authorizeUrl: string }>('POST', node.id, '/sign-in', settings());
      if (!webAddress(authorizeUrl)) throw new Error(text('invalid.url'));
      part('authorize').attr('href', authorizeUrl);
      part('authorize-row').show();
      page?.location.replace(authorizeUrl);
      poll();
    } catch (failure) {
      page?.close();
      afterSignIn = '';
      say(reason(failure));
    }
  }

  async function act(path: string, body: object, done: string): Promise<void> {
    try {
      await request('POST', node.id, path, body);
      say(done);
    } catch (failure) {
      say(reason(failure));
    }
    await askState();
  }

  async function copyDiagnostics(): Promise<void> {
    try {
      const diagnostics = await request<object>('GET', node.id, '/diagnostics');
      if (!closed) copy(JSON.stringify(diagnostics, null, 2), part('diagnostics'));
    } catch (failure) {
      say(reason(failure));
    }
  }

  connectionTest(node, settings);

  const topic = `remote-printing/accounts/${node.id}`;
  const onNews = () => void askState();
  RED.comms.subscribe(topic, onNews);

  for (const name of ['service', 'signIn']) field(name).on('change', showParts);
  field('redirectUri').on('input change', showRedirect);
  field('organizationId').on('input change', workspaces.show);
  part('redirect-copy').on('click', () => copy(redirectUri(), part('redirect-copy')));
  part('sign-in').on('click', () => void signIn());
  part('sign-out').on('click', () => void act('/sign-out', {}, text('account.signedOut')));
  part('complete').on('click', () => {
    const url = typedText('#remote-printing-answer')?.trim() ?? '';
    void act('/sign-in/complete', { url }, '');
  });
  part('workspace-refresh').on('click', () => void workspaces.refresh());
  part('diagnostics').on('click', () => void copyDiagnostics());
  part('authorize-row').hide();
  showRedirect();
  showParts();
  void askState();

  return () => {
    closed = true;
    clearTimeout(timer);
    RED.comms.unsubscribe(topic, onNews);
  };
}

function stateText(state: AccountState | undefined): string {
  if (!state) return text('state.unknown');
  if (state.state !== 'signed-in') return text(`state.${state.state}`);
  const user = typeof state.user === 'string' ? state.user : state.user?.name;
  return user ? text('state.signed-in-as', { user }) : text('state.signed-in');
}

function errorText(state: AccountState | undefined): string {
  const error = state?.error;
  return (typeof error === 'string' ? error : error?.message) ?? '';
}
