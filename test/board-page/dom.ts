import { join } from 'node:path';
import { compileFunction } from 'node:vm';
import { buildSync } from 'esbuild';

type Listener = (event: object) => void;

/** As much of a document as the page needs to be drawn without a browser. */
export class FakeNode {
  readonly childNodes: FakeNode[] = [];
  readonly listeners = new Map<string, Set<Listener>>();
  readonly attributes = new Map<string, string>();
  readonly style: Record<string, string> = {};
  readonly namespaceURI = 'http://www.w3.org/1999/xhtml';
  parentNode: FakeNode | null = null;
  ownerDocument: FakeNode | null = null;
  data = '';
  value = '';

  constructor(
    readonly localName: string,
    readonly nodeType = 1,
  ) {}

  get firstChild(): FakeNode | null {
    return this.childNodes[0] ?? null;
  }
  get nextSibling(): FakeNode | null {
    const { childNodes = [] } = this.parentNode ?? {};
    return childNodes[childNodes.indexOf(this) + 1] ?? null;
  }
  /** All nodes below, in their order. */
  get all(): FakeNode[] {
    return this.childNodes.flatMap((child) => [child, ...child.all]);
  }
  /** This node and those above it. */
  get path(): FakeNode[] {
    return [this, ...(this.parentNode?.path ?? [])];
  }
  get dataset(): { item: string | undefined } {
    return { item: this.attributes.get('data-item') };
  }
  get text(): string {
    return this.data + this.childNodes.map(({ text }) => text).join('');
  }

  insertBefore(child: FakeNode, before: FakeNode | null): void {
    child.remove();
    this.childNodes.splice(before ? this.childNodes.indexOf(before) : this.childNodes.length, 0, child);
    child.parentNode = this;
  }
  appendChild(child: FakeNode): void {
    this.insertBefore(child, null);
  }
  removeChild(child: FakeNode): void {
    child.remove();
  }
  remove(): void {
    const { childNodes = [] } = this.parentNode ?? {};
    if (this.parentNode) childNodes.splice(childNodes.indexOf(this), 1);
    this.parentNode = null;
  }
  contains(other: FakeNode | null): boolean {
    return other === this || (other !== null && this.contains(other.parentNode));
  }
  setAttribute(name: string, value: string): void {
    this.attributes.set(name, value);
  }
  removeAttribute(name: string): void {
    this.attributes.delete(name);
  }
  addEventListener(type: string, listener: Listener, options?: { signal?: AbortSignal } | boolean): void {
    this.listeners.set(type, (this.listeners.get(type) ?? new Set()).add(listener));
    if (typeof options === 'object')
      options.signal?.addEventListener('abort', () => this.removeEventListener(type, listener));
  }
  removeEventListener(type: string, listener: Listener): void {
    this.listeners.get(type)?.delete(listener);
  }
  /** Sends an event to this node and to those above it. */
  fire(type: string, more: object = {}): void {
    const event = { type, target: this, currentTarget: this, button: 0, stopPropagation: () => undefined, ...more };
    for (const node of this.path)
      for (const listener of node.listeners.get(type) ?? []) listener.call(node, { ...event, currentTarget: node });
  }

  // Parts of elements that the page uses.
  showModal(): void {}
  close(): void {}
  focus(): void {}
  setPointerCapture(): void {}
  getBoundingClientRect(): { top: number; height: number } {
    return { top: 0, height: 10 };
  }
  closest(): FakeNode | null {
    return this.path.find(({ dataset }) => dataset.item !== undefined) ?? null;
  }
}

/** A document of the page, with the element under the pointer. */
export class FakeDocument extends FakeNode {
  readonly documentElement = new FakeNode('html');
  readonly body = new FakeNode('body');
  readonly activeElement = this.body;
  title = '';
  hidden = true;
  pointed: FakeNode | null = null;

  constructor() {
    super('#document', 9);
    this.appendChild(this.documentElement);
    this.documentElement.appendChild(this.body);
  }
  createElementNS(_: string, name: string): FakeNode {
    const made = new FakeNode(name);
    made.ownerDocument = this;
    return made;
  }
  createTextNode(text: string): FakeNode {
    const made = new FakeNode('#text', 3);
    made.data = text;
    made.ownerDocument = this;
    return made;
  }
  elementFromPoint(): FakeNode | null {
    return this.pointed;
  }
  querySelector = (): null => null;
  getElementById = (): null => null;
}

/** Runs modules of the page in a document without a browser, and returns what they export. `more`: further names of a browser. */
export function load(source: string, document: FakeDocument, more: object): unknown {
  const resolveDir = join(__dirname, '../../board');
  const { outputFiles } = buildSync({
    stdin: { contents: source, resolveDir, loader: 'ts' },
    ...{ bundle: true, write: false, format: 'iife', globalName: 'page', target: 'es2022' },
    ...{ jsx: 'automatic', jsxImportSource: 'preact' },
  });
  const timers = { setTimeout, clearTimeout, setInterval: () => 0, clearInterval };
  const window = { ...timers, addEventListener: () => undefined };
  class IntersectionObserver {
    observe(): void {}
    unobserve(): void {}
  }
  const names = {
    document,
    window,
    IntersectionObserver,
    location: { search: '' },
    CSS: { supports: () => true },
    HTMLElement: FakeNode,
    ...more,
  };
  const run = compileFunction(`${outputFiles[0]?.text ?? ''}; return page;`, Object.keys(names)) as (
    ...values: unknown[]
  ) => unknown;
  return run(...Object.values(names));
}
