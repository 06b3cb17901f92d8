import assert from 'node:assert/strict';
import { call, Bench, REDIRECT, SCOPE, type Reply, type Wire } from './support';

const PATH = '/slicer/v1/projects';

describe('simulator: projects of the library', () => {
  let bench: Bench;
  beforeEach(async () => (bench = await Bench.start()));
  afterEach(() => bench.simulator.close());

  const create = async (name: string): Promise<Wire> =>
    (await bench.api('PUT', PATH, { data: { display_name: name } })).json.data;
  const names = async (query = ''): Promise<string[]> =>
    (await bench.api('GET', `${PATH}${query}`)).json.data.map((project: Wire) => project.display_name);

  it('have the fields that clients know, and are read by id', async () => {
    const made = await create('Demo project');
    assert.deepEqual(Object.keys(made), [
      ...['library_project_id', 'display_name', 'username', 'organization_id', 'organization_shared', 'team_ids'],
      ...['tags', 'description', 'status', 'is_inactive', 'created_by_user_id', 'created_at', 'last_updated'],
    ]);
    assert.deepEqual(
      [made.display_name, made.username, made.organization_shared, made.created_at],
      ['Demo project', 'maker', false, '2030-01-01T00:00:00.000Z'],
    );
    assert.deepEqual((await bench.api('GET', `${PATH}/${made.library_project_id}`)).json.data, made);
    assert.equal((await bench.api('GET', `${PATH}/${'x'.repeat(44)}`)).status, 404);
  });

  it('are found by a part of their name, and by whether they are shared, page by page', async () => {
    for (const name of ['Demo one', 'Other', 'demo two']) await create(name);
    assert.deepEqual(await names(), ['Spare parts', 'Demo one', 'Other', 'demo two']);
    assert.deepEqual(await names('?search=DEMO'), ['Demo one', 'demo two']);
    assert.deepEqual(await names('?shared=true'), ['Spare parts']);
    assert.deepEqual(await names('?shared=false&search=o'), ['Demo one', 'Other', 'demo two']);
    assert.deepEqual(await names('?search=nothing'), []);
    assert.equal((await bench.api('GET', `${PATH}?shared=maybe`)).status, 400);
    const { links, meta } = (await bench.api('GET', `${PATH}?search=demo&limit=1`)).json;
    assert.equal(meta.page.total_count, 2);
    const { pathname, search } = new URL(links.next);
    assert.deepEqual((await bench.api('GET', pathname + search)).json.data[0].display_name, 'demo two');
  });

  it('are seen by their creator alone until they are shared', async () => {
    const { apiUrl, users, tokens } = bench.simulator;
    const [maker, teacher] = users;
    const { organizationId } = teacher!.organizations[0]!;
    const grant = { userId: maker!.userId, organizationId, redirectUri: REDIRECT, scope: SCOPE };
    const { access_token: token } = tokens.signIn(grant);
    const as =
      (bearer: string) =>
      (method: string, path: string, data?: unknown): Promise<Reply> =>
        call(apiUrl + path, {
          method,
          headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
          ...(data ? { body: JSON.stringify({ data }) } : {}),
        });
    const [creator, other] = [as(token), as(teacher!.apiToken)];
    const mine = (await creator('PUT', PATH, { display_name: 'Mine' })).json.data;
    const listed = (await other('GET', PATH)).json.data;
    assert.deepEqual(
      listed.map((project: Wire) => project.display_name),
      ['Spare parts'],
    );

    const toolpath = { job_name: 'part.gcode', file_size: 3, content_type: 'text/plain' };
    const mesh = { file_name: 'cube.stl', file_size: 3, content_type: 'model/stl' };
    /** Statuses of all calls that name a project. */
    const statuses = async (caller: typeof creator, { library_project_id: id }: Wire): Promise<number[]> => [
      (await caller('GET', `${PATH}/${id}`)).status,
      (await caller('GET', `${PATH}/${id}/files`)).status,
      (await caller('PUT', `${PATH}/${id}/comments`, { body: 'Well done.' })).status,
      (await caller('PUT', '/slicer/v1/jobs/upload', { ...toolpath, library_project_id: id })).status,
      (await caller('PUT', '/slicer/v1/files/upload', { ...mesh, library_project_id: id })).status,
    ];
    assert.deepEqual(await statuses(other, mine), [404, 404, 404, 404, 404]);
    assert.deepEqual(await statuses(other, listed[0]), [200, 200, 200, 200, 200]);
    assert.deepEqual(await statuses(creator, mine), [200, 200, 200, 200, 200]);
  });

  it('have comments, which move the date of the last change', async () => {
    const { library_project_id: id } = await create('Demo');
    bench.pass(60);
    const comment = (data: unknown): Promise<Reply> => bench.api('PUT', `${PATH}/${id}/comments`, { data });
    const { json } = await comment({ body: 'Well done.' });
    const { comment_id: commentId, user_id: userId, ...rest } = json.data;
    assert.deepEqual(rest, {
      ...{ library_project_id: id, body: 'Well done.', username: 'maker' },
      created_at: '2030-01-01T00:01:00.000Z',
    });
    assert.deepEqual([commentId.length, userId], [44, bench.simulator.users[0]!.userId]);
    assert.equal((await bench.api('GET', `${PATH}/${id}`)).json.data.last_updated, '2030-01-01T00:01:00.000Z');
    for (const wrong of [{}, { body: '' }, { body: 1 }, { body: 'x', title: 'y' }])
      assert.equal((await comment(wrong)).status, 400, JSON.stringify(wrong));
  });

  it('list their own files, which state their client and a date before the upload already', async () => {
    const { library_project_id: id } = await create('Demo');
    const data = { file_name: 'cube.stl', file_size: 3, content_type: 'model/stl' };
    await bench.api('PUT', '/slicer/v1/files/upload', { data });
    await bench.api('PUT', '/slicer/v1/files/upload', { data: { ...data, library_project_id: id } });
    const { json } = await bench.api('GET', `${PATH}/${id}/files?limit=10`);
    assert.equal(json.meta.page.total_count, 1);
    const [file] = json.data;
    assert.deepEqual(
      [file.file_name, file.library_project_id, file.status, file.client_id, file.uploaded_at],
      ['cube.stl', id, 'uploading', 'simulator', '2030-01-01T00:00:00.000Z'],
    );
    assert.equal((await bench.api('GET', `${PATH}/${'x'.repeat(44)}/files`)).status, 404);
  });

  it('have limits, which are none', async () => {
    const { data } = (await bench.api('GET', '/slicer/v1/feature_budgets')).json;
    assert.deepEqual([data.library_max_private_projects, data.library_can_use_comments], [-1, true]);
  });
});
