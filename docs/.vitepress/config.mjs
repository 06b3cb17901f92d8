// The site, which `npm run site` builds with VitePress from docs/ and from some pages beside it.
import { existsSync, readFileSync, readdirSync, statSync } from 'node:fs';
import { dirname, join, relative, resolve } from 'node:path';

import { defineConfig } from 'vitepress';

import { pageIcon } from '../../scripts/page-icon.mjs';

const root = resolve(import.meta.dirname, '../..');
const textOf = (/** @type {string} */ path) => readFileSync(join(root, path), 'utf8');
const { description, repository } = JSON.parse(textOf('package.json'));

/** Address of the repository. */
const FORGE = repository.url.replace(/^git\+|\.git$/g, '');

/** Pages of the site outside of docs/. */
const BESIDE = ['ARCHITECTURE.md', 'CONTRIBUTING.md', 'SECURITY.md', 'simulator/README.md', 'monitoring/README.md'];

/** Markdown files in a folder, in the order of their names. @param {string} folder */
const pagesIn = (folder) =>
  readdirSync(join(root, folder))
    .filter((file) => file.endsWith('.md') && file !== 'README.md')
    .map((file) => `${folder}/${file}`);

/** The sidebar: groups with their pages, by their paths. */
const GROUPS = {
  Start: ['docs/index.md', 'docs/first-automation.md', 'docs/sign-in.md', 'simulator/README.md'],
  Recipes: ['docs/examples.md', 'docs/recipes.md'],
  Nodes: [
    'docs/nodes/README.md',
    ...Object.keys(JSON.parse(textOf('package.json'))['node-red'].nodes).map((type) => `docs/nodes/${type}.md`),
    'docs/reference.md',
  ],
  'Print queue': ['docs/print-queue.md'],
  'Print board': ['docs/print-board.md'],
  Assistants: ['docs/assistant.md'],
  'Running it': [
    'docs/operation.md',
    'docs/containers.md',
    'docs/replicas.md',
    'docs/monitoring.md',
    'monitoring/README.md',
    'docs/limits.md',
    'docs/quality.md',
    'SECURITY.md',
  ],
  'When something does not work': ['docs/troubleshooting.md', 'docs/recording.md'],
  'For developers': [
    'CONTRIBUTING.md',
    'ARCHITECTURE.md',
    'docs/glossary.md',
    'docs/service/interface.md',
    'docs/service/wire-facts.md',
    'docs/coverage.md',
    'docs/home-assistant.md',
  ],
  Decisions: ['docs/adr/README.md', ...pagesIn('docs/adr')],
};

/** Path of a page within the site. @param {string} path in the repository */
const placeOf = (path) =>
  path
    .replace(/^docs\//, '')
    .replace(/\bREADME\.md$/, 'index.md')
    .replace(/^[A-Z]+\.md$/, (name) => name.toLowerCase());

/** Names of pages in the sidebar whose heading does not suit. @type {Record<string, string>} */
const NAMES = {
  'docs/index.md': 'What it is',
  'docs/nodes/remote-printing-queue.md': 'print queue (configuration)',
};

/** Name of a page in the sidebar. @param {string} path */
const titleOf = (path) => NAMES[path] ?? /^# (.+)$/m.exec(textOf(path))?.[1]?.replaceAll('`', '') ?? path;

/** Anchor of a heading, as Git forges build it, so that a link leads to the same place in both. @param {string} heading */
const anchorOf = (heading) =>
  heading
    .toLowerCase()
    .replace(/[^\w\- ]/g, '')
    .replaceAll(' ', '-');

const isPage = (/** @type {string} */ path) => BESIDE.includes(path) || /^docs\/.*\.md$/.test(path);

/**
 * Address of a link between files of the repository: a page of the site, or the file on the forge.
 * @param {string} page that has the link, from the root @param {string} link
 */
function addressOf(page, link) {
  if (/^(#|[a-z]+:)/.test(link)) return link;
  const [to = '', anchor] = link.split('#');
  const target = relative(root, resolve(root, dirname(page), to)).replaceAll('\\', '/');
  if (!existsSync(join(root, target))) throw new Error(`${page} has a dead link: ${link}`);
  const isFolder = statSync(join(root, target)).isDirectory();
  const file = isFolder && existsSync(join(root, target, 'README.md')) ? `${target}/README.md` : target;
  const hash = anchor === undefined ? '' : `#${anchor}`;
  return isPage(file) ? `/${placeOf(file)}${hash}` : `${FORGE}/${isFolder ? 'tree' : 'blob'}/main/${target}${hash}`;
}

/** Converts the links of a page before VitePress reads them. @param {import('markdown-it')} md */
function convertLinks(md) {
  md.core.ruler.push('links between files', ({ tokens, env }) => {
    const page = relative(root, env.realPath ?? env.path);
    for (const token of tokens.flatMap(({ children }) => children ?? []))
      if (token.type === 'link_open') token.attrSet('href', addressOf(page, token.attrGet('href') ?? ''));
  });
}

export default defineConfig({
  title: 'Remote Printing for Node-RED',
  description,
  lang: 'en-US',
  head: [['link', { rel: 'icon', href: `data:image/svg+xml,${encodeURIComponent(pageIcon())}` }]],
  base: `/${FORGE.split('/').pop()}/`,
  srcDir: '..',
  srcExclude: ['!(docs|simulator|monitoring|*.md)/**', '{CHANGELOG,README}.md'],
  cacheDir: '../.cache/vitepress',
  rewrites: placeOf,
  metaChunk: true,
  // The index of the search is one file.
  vite: { build: { chunkSizeWarningLimit: 2000 } },
  ignoreDeadLinks: 'localhostLinks',
  markdown: {
    anchor: { slugify: anchorOf },
    config: convertLinks,
    // Saves a second of each build: hardly any code of the pages has a language.
    highlight: (code) => `<pre v-pre><code>${code.replaceAll('&', '&amp;').replaceAll('<', '&lt;')}</code></pre>`,
  },
  themeConfig: {
    siteTitle: 'Remote Printing',
    nav: [
      { text: 'First automation', link: '/first-automation' },
      { text: 'Recipes', link: '/recipes' },
      { text: 'Nodes', link: '/nodes/' },
      { text: 'When something does not work', link: '/troubleshooting' },
    ],
    sidebar: Object.entries(GROUPS).map(([text, pages]) => ({
      text,
      collapsed: text === 'Decisions',
      items: pages.map((path) => ({
        text: titleOf(path),
        link: `/${placeOf(path).replace(/(index)?\.md$/, '')}`,
      })),
    })),
    outline: [2, 3],
    search: { provider: 'local' },
    editLink: { pattern: `${FORGE}/edit/main/:path` },
    socialLinks: [{ icon: 'github', link: FORGE }],
  },
});
