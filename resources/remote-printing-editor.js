/**
 * What the forms of this pack share, as one global `RemotePrinting`. Every node's html loads this file; loading it again
 * changes nothing. Names of printers and workspaces come from users: they are only ever set as text.
 */
(function () {
  if (window.RemotePrinting) return;

  const catalogue = '@remote-printing/node-red-remote-printing/remote-printing-account:';
  const valueTypes = ['str', 'msg', 'flow', 'global', 'env', 'jsonata'];
  const untouchedSecret = '__PWRD__';
  const rangeWords = [
    'today',
    'yesterday',
    'this week',
    'last week',
    'this month',
    'last month',
    'last 24 hours',
    'last 7 days',
    'last 4 weeks',
    'last 12 months',
  ];
  const rangeWord = /^(today|yesterday|(this|last)\s+(week|month)|last\s+[1-9]\d*\s+(hour|day|week|month)s?|)$/i;

  /** A text of the account's catalogue, which holds what the forms share. */
  function text(key, values) {
    return RED._(catalogue + key, values);
  }

  // ---- talking to the runtime (reference 5): relative addresses, so that admin root and sign-in of the editor hold ----

  function request(method, account, path, body) {
    return $.ajax({
      method,
      url: 'remote-printing/accounts/' + encodeURIComponent(account) + path,
      cache: false,
      headers: { Accept: 'application/json' },
      ...(body && { contentType: 'application/json', data: JSON.stringify(body) }),
    });
  }

  /** One sentence for a failed request, or for anything else that was thrown. */
  function reason(failure) {
    if (failure instanceof Error) return failure.message;
    if (failure.status === 404) return text('picker.deployFirst');
    if (failure.status === 401) return text('failure.permission');
    if (!failure.status) return text('failure.unreachable');
    const error = failure.responseJSON?.error;
    return String(error?.message ?? error ?? text('failure.status', { status: failure.status }));
  }

  /** Why a list of the account can't be had: not signed in is said as such, whatever words the runtime used. */
  async function whyNoList(account, failure) {
    if (failure.status === 404) return reason(failure);
    const { state } = await request('GET', account, '').catch(() => ({}));
    return state === 'signed-out' || state === 'sign-in-needed' ? text('picker.signInFirst') : reason(failure);
  }

  // ---- validators: true, or the reason ----

  function labelled(node, name, sentence) {
    return node._('label.' + name) + ': ' + sentence;
  }

  /** What the open dialog shows, else what the node has: a rule that hangs on another property follows the typing. */
  function accountSetting(node, name) {
    return $('#node-config-input-' + name).val() ?? node[name];
  }

  function parseUrl(value) {
    try {
      return new URL(value);
    } catch {
      return undefined;
    }
  }

  const loopback = /^(localhost|127(\.\d{1,3}){3}|\[::1\])$/;

  const validators = {
    typed(name) {
      return function (value, _opt) {
        return RED.validators.typedInput(name + 'Type').call(this, value, { label: this._('label.' + name) });
      };
    },

    /** A number from `least` up. */
    number(name, least) {
      return function (value, _opt) {
        const valid = String(value).trim() !== '' && Number(value) >= least && Number.isFinite(Number(value));
        return valid || labelled(this, name, text('invalid.number', { least }));
      };
    },

    /** An end of a report's range (reference 3.5). */
    range(name) {
      const typed = validators.typed(name);
      return function (value, opt) {
        const type = $('#node-input-' + name + 'Type').val() ?? this[name + 'Type'];
        if (type !== 'relative') return typed.call(this, value, opt);
        return rangeWord.test(value.trim()) || labelled(this, name, text('invalid.range'));
      };
    },

    milestones() {
      return function (value, _opt) {
        const marks = String(value).split(',');
        const valid = String(value).trim() === '' || marks.every((mark) => Number(mark) > 0 && Number(mark) <= 100);
        return valid || labelled(this, 'milestones', text('invalid.milestones'));
      };
    },

    /** A host of the service: `https:`, and `http:` for this very machine alone. */
    host(name) {
      return function (value, _opt) {
        if (accountSetting(this, 'service') === 'simulator') return true;
        if (!value) {
          const needed = name === 'apiUrl' || accountSetting(this, 'signIn') === 'oauth';
          return !needed || labelled(this, name, text('invalid.missing'));
        }
        const url = parseUrl(value);
        const safe = url?.protocol === 'https:' || (url?.protocol === 'http:' && loopback.test(url.hostname));
        if (!safe) return labelled(this, name, text('invalid.host'));
        return (!url.search && !url.hash && !url.username) || labelled(this, name, text('invalid.hostOnly'));
      };
    },

    redirectUri() {
      return function (value, _opt) {
        return (
          !value ||
          /^https?:$/.test(parseUrl(value)?.protocol ?? '') ||
          labelled(this, 'redirectUri', text('invalid.url'))
        );
      };
    },

    origin() {
      return function (value, _opt) {
        return !value || parseUrl(value)?.origin === value || labelled(this, 'origin', text('invalid.origin'));
      };
    },

    storagePath() {
      return function (value, _opt) {
        return /^\/[^\s?#]*$/.test(value) || labelled(this, 'storagePath', text('invalid.storagePath'));
      };
    },

    /** Contract 7: an object whose values are `METHOD /path`. */
    paths() {
      return function (value, _opt) {
        let paths;
        try {
          paths = JSON.parse(value || '{}');
        } catch (error) {
          return labelled(this, 'paths', error.message);
        }
        if (paths === null || typeof paths !== 'object' || Array.isArray(paths)) {
          return labelled(this, 'paths', text('invalid.paths'));
        }
        for (const [name, path] of Object.entries(paths)) {
          if (!pathNames.includes(name)) return labelled(this, 'paths', text('invalid.pathName', { name }));
          if (!isCall(path)) return labelled(this, 'paths', text('invalid.path', { name }));
        }
        return true;
      };
    },
  };

  const pathNames = [
    'currentUser',
    'printerAction',
    'actionStatus',
    'jobAction',
    'createReport',
    'getReport',
    'deleteJob',
    'deleteFile',
    'printJobs',
    'maintenance',
  ];
  const pathHoles =
    /\{(auth_url|storage|cluster_id|printer_id|action|action_id|cluster_job_id|report_id|job_id|file_id)\}/g;

  /** Whether it is `METHOD /path/{parameter}`, with nothing in the path that could lead elsewhere. */
  function isCall(value) {
    const [, path = ''] = /^(?:GET|PUT|POST|DELETE) (?:\{auth_url\}|\{storage\})?(\/\S*)$/.exec(value) ?? [];
    const filled = path.replace(pathHoles, '-');
    const leadsElsewhere = /\/\/|\/(\.|%2e){1,2}(?=[;/]|$)|%(2f|5c|[01][\da-f]|7f|(?![\da-f]{2}))/i.test(filled);
    return /^[\w\-.~!$&'()*+,;=:@%/]+$/.test(filled) && !leadsElsewhere;
  }

  // ---- inputs ----

  /** Makes a TypedInput of `#…-input-<name>`; the label names the input that the user sees. */
  function typedInput(id, options) {
    const field = $('#' + id).typedInput(options);
    const shown = id + '-shown';
    field.next('.red-ui-typedInput-container').find('input.red-ui-typedInput-input').attr('id', shown);
    $('label[for="' + id + '"]').attr('for', shown);
    return field;
  }

  /** The pair `name` + `nameType` of a flow node; `types` of its own stand before those that all have. */
  function valueInput(name, types = []) {
    const typeField = '#node-input-' + name + 'Type';
    return typedInput('node-input-' + name, { types: [...types, ...valueTypes], typeField });
  }

  /** The same for an end of a range: a range word, offered while typing, or what else a value can be. */
  function rangeInput(name) {
    const offer = (typed) =>
      rangeWords.filter((word) => word.includes(typed.toLowerCase())).map((word) => ({ value: word, label: word }));
    const relative = { value: 'relative', label: text('range'), icon: 'fa fa-calendar', autoComplete: offer };
    return valueInput(name, [relative]);
  }

  /**
   * A select that writes into the free text it stands beside.
   * `load` gives `[{ value, label }]` or rejects with what to say instead; `value` is the text now, undefined while it
   * is no plain text; `blank` says what an empty text means.
   */
  function picker({ select, load, value, choose, blank, note }) {
    let options = [];
    let turn = 0;

    function show() {
      const current = value();
      const known = options.some((option) => option.value === current);
      const other = current === '' ? blank : text('picker.other');
      select.empty();
      if (!known && current !== '') select.append($('<option>', { value: '-', text: other, disabled: true }));
      select.append($('<option>', { value: '', text: blank }));
      for (const option of options) select.append($('<option>', { value: option.value, text: option.label }));
      select.val(known || current === '' ? current : '-');
    }

    async function refresh() {
      const mine = ++turn;
      note.text(text('picker.loading'));
      let found = [];
      let said = '';
      try {
        found = await load();
        if (found.length === 0) said = text('picker.none');
      } catch (error) {
        said = error.message;
      }
      if (mine !== turn) return;
      options = found;
      note.text(said);
      show();
    }

    select.on('change', () => choose(select.val()));
    show();
    return { refresh, show };
  }

  /** A list of the account as choices, or an Error that says what to do first. */
  async function accountList(account, path, toChoice) {
    if (!account || account === '_ADD_') throw new Error(text('picker.chooseAccount'));
    try {
      const list = await request('GET', account, path);
      return list.map(toChoice);
    } catch (failure) {
      throw new Error(await whyNoList(account, failure), { cause: failure });
    }
  }

  function clusterChoice({ clusterId, name, model, online }) {
    const state = online === true ? text('picker.online') : online === false ? text('picker.offline') : undefined;
    const details = [model, state].filter(Boolean).join(', ');
    return { value: clusterId, label: (name || clusterId) + (details && ' (' + details + ')') };
  }

  /** The cluster input of a flow node and, below it, the clusters of the account that is chosen in the form. */
  function clusterInput(blank, name = 'cluster') {
    const field = valueInput(name);
    const select = $('<select>', { id: 'node-input-cluster-choice' });
    const again = $('<button type="button" class="red-ui-button"><i class="fa fa-refresh"></i></button>')
      .attr({ id: 'node-input-cluster-refresh', 'aria-label': text('picker.refresh') })
      .css('margin-left', '10px');
    const note = $('<div role="status" class="remote-printing-note">');
    const label = $('<label for="node-input-cluster-choice">').append(
      $('<i class="fa fa-list"></i>'),
      ' ',
      $('<span>').text(text('picker.label')),
    );
    const control = $('<div style="display: inline-flex; width: 70%">').append(select.css('flex-grow', 1), again);
    field.closest('.form-row').after($('<div class="form-row">').append(label, ' ', control, note));

    const clusters = picker({
      select,
      note,
      blank,
      load: () => accountList($('#node-input-account').val(), '/clusters', clusterChoice),
      value: () => (field.typedInput('type') === 'str' ? field.typedInput('value') : undefined),
      choose(cluster) {
        field.typedInput('type', 'str');
        field.typedInput('value', cluster);
      },
    });
    field.on('change keyup', clusters.show);
    again.on('click', clusters.refresh);
    $('#node-input-account').on('change', clusters.refresh);
    clusters.refresh();
    return select.closest('.form-row');
  }

  /** Shows `rows` while the checkbox or select `control` makes `wanted` true. */
  function showWhile(control, wanted, rows) {
    const follow = () => $(rows).toggle(wanted(control));
    control.on('change', follow);
    follow();
  }

  // ---- the account's dialog ----

  const pollEvery = 1500;

  /** Where the service sends the browser after the sign-in: below the editor, as this browser sees it. */
  function callbackAddress() {
    const editor = new URL(RED.settings.apiRootUrl || '.', location.href);
    return new URL('remote-printing/callback', editor).href;
  }

  function copy(value, button) {
    RED.clipboard.copyText(value, button, 'clipboard.copyMessageValue');
  }

  /** Brings the dialog of `node` to life; the returned function ends all that it started. */
  function accountDialog(node) {
    const field = (name) => $('#node-config-input-' + name);
    const part = (name) => $('#remote-printing-' + name);
    let closed = false;
    let timer;
    let asking = false;
    /** What to say once a sign-in that was begun here has ended; blank while there is none. */
    let afterSignIn = '';
    let state;

    typedInput('node-config-input-paths', { type: 'json', types: ['json'] });

    const simulated = () => field('service').val() === 'simulator';
    const byToken = () => field('signIn').val() === 'token';
    function showParts() {
      $('.remote-printing-remote').toggle(!simulated());
      $('.remote-printing-simulator').toggle(simulated());
      $('.remote-printing-oauth').toggle(!byToken());
      $('.remote-printing-token').toggle(byToken());
      say('');
      showState();
      // Which of them is needed hangs on what was just chosen.
      field('authUrl').add(field('apiUrl')).trigger('change');
    }

    const redirectAddress = () => field('redirectUri').val().trim() || callbackAddress();
    const showRedirect = () => part('redirect').val(redirectAddress());

    /** The properties and credentials as typed so far; a stored secret that was not touched stays with the runtime. */
    function settings() {
      const names = [...Object.keys(node._def.defaults), ...Object.keys(node._def.credentials)];
      const typed = names.map((name) => [name, field(name).val()]);
      const known = typed.filter(([, value]) => value !== undefined && value !== untouchedSecret);
      return { ...Object.fromEntries(known), redirectUri: redirectAddress() };
    }

    function say(sentence) {
      part('said').text(sentence);
    }

    function stateText() {
      if (simulated()) return text('state.simulated');
      if (!state) return text('state.unknown');
      if (state.state !== 'signed-in') return text('state.' + state.state);
      const user = typeof state.user === 'string' ? state.user : state.user?.name;
      return user ? text('state.signed-in-as', { user }) : text('state.signed-in');
    }

    function showState() {
      part('state').text(stateText());
      part('state-error').text((!simulated() && state?.error && (state.error.message ?? state.error)) || '');
      part('sign-out').prop('disabled', !state || state.state === 'signed-out');
    }

    const workspaces = picker({
      select: part('workspace'),
      note: part('workspace-note'),
      blank: text('picker.anyWorkspace'),
      load: () => accountList(node.id, '/workspaces', ({ id, name }) => ({ value: id, label: name || id })),
      value: () => field('organizationId').val(),
      choose: (id) => field('organizationId').val(id).trigger('change'),
    });

    async function askState() {
      if (asking || closed) return;
      asking = true;
      const before = state;
      try {
        state = await request('GET', node.id, '');
      } catch (failure) {
        state = undefined;
        if (failure.status !== 404) say(reason(failure));
      } finally {
        asking = false;
      }
      if (closed) return;
      showState();
      const signedIn = state?.state === 'signed-in';
      if (signedIn && before?.state !== 'signed-in') workspaces.refresh();
      // A sign-in while signed in shows by its new tokens alone.
      if (signedIn && afterSignIn && (before?.state !== 'signed-in' || before.expiresAt !== state.expiresAt)) {
        part('authorize-row').hide();
        say(afterSignIn);
        afterSignIn = '';
      }
    }

    function poll() {
      clearTimeout(timer);
      timer = setTimeout(() => askState().finally(() => !closed && poll()), pollEvery);
    }

    async function signIn() {
      // Opened within the click, for later the browser would block it.
      const page = window.open('about:blank', '_blank', 'width=640,height=800');
      if (page) page.opener = null;
      say(text('account.signingIn'));
      afterSignIn = state ? text('account.signedIn') : text('account.signedInDeploy');
      try {
        const { authorizeUrl } = await request('POST', node.id, '/sign-in', settings());
        if (!/^https?:\/\//.test(authorizeUrl)) throw new Error(text('invalid.url'));
        part('authorize').attr('href', authorizeUrl);
        part('authorize-row').show();
        if (page) page.location.replace(authorizeUrl);
        poll();
      } catch (failure) {
        page?.close();
        afterSignIn = '';
        say(reason(failure));
      }
    }

    async function act(path, body, done) {
      try {
        await request('POST', node.id, path, body);
        say(done);
      } catch (failure) {
        say(reason(failure));
      }
      await askState();
    }

    async function copyDiagnostics() {
      try {
        const diagnostics = await request('GET', node.id, '/diagnostics');
        if (!closed) copy(JSON.stringify(diagnostics, null, 2), part('diagnostics'));
      } catch (failure) {
        say(reason(failure));
      }
    }

    const topic = 'remote-printing/accounts/' + node.id;
    RED.comms.subscribe(topic, askState);

    field('service').add(field('signIn')).on('change', showParts);
    field('redirectUri').on('input change', showRedirect);
    field('organizationId').on('input change', workspaces.show);
    part('redirect-copy').on('click', () => copy(redirectAddress(), part('redirect-copy')));
    part('sign-in').on('click', signIn);
    part('sign-out').on('click', () => act('/sign-out', {}, text('account.signedOut')));
    part('complete').on('click', () => act('/sign-in/complete', { url: part('answer').val().trim() }, ''));
    part('workspace-refresh').on('click', workspaces.refresh);
    part('diagnostics').on('click', copyDiagnostics);
    part('authorize-row').hide();
    showRedirect();
    showParts();
    askState();

    return function close() {
      closed = true;
      clearTimeout(timer);
      RED.comms.unsubscribe(topic, askState);
    };
  }

  window.RemotePrinting = { text, validators, valueInput, rangeInput, clusterInput, showWhile, accountDialog };
})();
