import { escapeHtml } from '../http/html';
import type { Organization, User } from '../world/state';

const STYLE =
  'body{font:16px/1.5 system-ui,sans-serif;max-width:32rem;margin:3rem auto;padding:0 1rem}' +
  'input,select,button{font:inherit;padding:.3rem .6rem}label{display:block;margin:.5rem 0}';

/** A page of the sign-in: a title, and a form that continues the authorization with this id. */
function formPage(title: string, action: string, flow: string, fields: string): string {
  return (
    `<!doctype html><html lang="en"><head><meta charset="utf-8"><title>${escapeHtml(title)}</title>` +
    `<style>${STYLE}</style></head><body><h1>${escapeHtml(title)}</h1>` +
    `<p>This is the simulator of the service: nothing here is real.</p>` +
    `<form method="post" action="/authorize/${action}"><input type="hidden" name="flow" value="${escapeHtml(flow)}">` +
    `${fields}</form></body></html>`
  );
}

/** Sign-in page with the first user filled in, so that one click signs in. */
export function signInPage(flow: string, users: User[], problem = ''): string {
  const [first] = users;
  const list = users
    .map(
      ({ username, password }) =>
        `<li><code>${escapeHtml(username)}</code> / <code>${escapeHtml(password)}</code></li>`,
    )
    .join('');
  return formPage(
    'Sign in',
    'sign-in',
    flow,
    (problem && `<p role="alert">${escapeHtml(problem)}</p>`) +
      `<p>Users and their passwords:</p><ul>${list}</ul>` +
      `<label>User name <input name="username" required value="${escapeHtml(first?.username ?? '')}"></label>` +
      `<label>Password <input name="password" type="password" required value="${escapeHtml(first?.password ?? '')}"></label>` +
      `<button type="submit">Sign in</button>`,
  );
}

export function workspacePage(flow: string, organizations: Organization[]): string {
  const options = organizations
    .map(
      ({ organizationId, organizationName }) =>
        `<option value="${escapeHtml(organizationId)}">${escapeHtml(organizationName)}</option>`,
    )
    .join('');
  return formPage(
    'Choose a workspace',
    'workspace',
    flow,
    `<label>Workspace <select name="organization_id">${options}</select></label><button type="submit">Continue</button>`,
  );
}

export function consentPage(
  flow: string,
  about: { client: string; user: string; workspace: string; scope: string },
): string {
  const scopes = about.scope
    .split(' ')
    .map((scope) => `<li><code>${escapeHtml(scope)}</code></li>`)
    .join('');
  return formPage(
    'Give access?',
    'consent',
    flow,
    `<p><b>${escapeHtml(about.client)}</b> asks for access as <b>${escapeHtml(about.user)}</b> ` +
      `in <b>${escapeHtml(about.workspace)}</b>:</p><ul>${scopes}</ul>` +
      `<button type="submit" name="decision" value="approve">Approve</button> ` +
      `<button type="submit" name="decision" value="refuse">Refuse</button>`,
  );
}
