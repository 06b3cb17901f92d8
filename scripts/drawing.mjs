// Drawings of flows as the editor shows them, for docs/recipes.md.

import { COLOR } from './form.mjs';

/**
 * @typedef {{ id: string, type: string, name?: string, x?: number, y?: number, wires?: string[][], outputs?: number,
 *   label?: string, info?: string }} FlowNode
 */

/** Colours of core nodes, as in the editor's palette. @type {Record<string, string>} */
const COLORS = {
  catch: '#e49191',
  change: '#e2d96e',
  comment: '#ffffff',
  debug: '#87a980',
  exec: '#e9967a',
  file: '#deb887',
  'file in': '#deb887',
  function: '#fdd0a2',
  'http in': '#e7e7ae',
  'http request': '#e7e7ae',
  'http response': '#e7e7ae',
  inject: '#a6bbcf',
  'link in': '#dddddd',
  'link out': '#dddddd',
  'mqtt in': '#d8bfd8',
  'mqtt out': '#d8bfd8',
  rbe: '#e2d96e',
  split: '#e2d96e',
  status: '#94c1d0',
  switch: '#e2d96e',
  template: '#f3b567',
};
/** Colour of nodes of other packs. */
const OTHER = '#c7d5e0';

/** Mean width of a letter, px. */
const LETTER = 6.8;
const HEIGHT = 30;
const MARGIN = 20;

/** @param {string} words */
const escape = (words) => words.replace(/[&<>"]/g, (sign) => `&#${sign.charCodeAt(0)};`);

/**
 * Node at its place.
 * @param {FlowNode} node @param {(type: string) => string} nameOf
 */
function place({ type, name, x = 0, y = 0, wires = [] }, nameOf) {
  const isLink = type.startsWith('link ');
  const label = isLink ? '' : name || nameOf(type);
  const width = isLink ? HEIGHT : Math.max(100, 20 * Math.ceil((label.length * LETTER + 50) / 20));
  const height = Math.max(HEIGHT, 15 * wires.length);
  return { type, label, width, height, left: x - width / 2, top: y - height / 2, middle: y };
}

/**
 * Draws a flow.
 * @param {FlowNode[]} flow @param {(type: string) => string} nameOf name of a node without one, by its type
 * @returns {string} an SVG document
 */
export function drawing(flow, nameOf) {
  const nodes = flow.filter(({ x }) => x !== undefined);
  const places = new Map(nodes.map((node) => [node.id, place(node, nameOf)]));
  const all = [...places.values()];
  const [left, top] = [Math.min(...all.map((node) => node.left)), Math.min(...all.map((node) => node.top))];
  const right = Math.max(...all.map((node) => node.left + node.width));
  const bottom = Math.max(...all.map((node) => node.top + node.height));
  const box = [left - MARGIN, top - MARGIN, right - left + 2 * MARGIN, bottom - top + 2 * MARGIN].map(Math.round);
  const wires = nodes.flatMap(({ id, wires: outputs = [] }) =>
    outputs.flatMap((targets, port) =>
      targets.flatMap((target) => {
        const [from, to] = [places.get(id), places.get(target)];
        return from && to ? [wire(from, to, port - (outputs.length - 1) / 2)] : [];
      }),
    ),
  );
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="${box.join(' ')}" width="${box[2]}" height="${box[3]}">`,
    `<style>text{font:14px Helvetica,Arial,sans-serif;fill:#333}path{fill:none;stroke:#888;stroke-width:2}rect{stroke:#999}</style>`,
    `<rect x="${box[0]}" y="${box[1]}" width="${box[2]}" height="${box[3]}" fill="#fff"/>`,
    ...wires,
    ...all.map(shape),
    '</svg>\n',
  ].join('\n');
}

/** @typedef {ReturnType<typeof place>} Place */

/** @param {Place} from @param {Place} to @param {number} port from the middle */
function wire(from, to, port) {
  const [x1, y1, x2, y2] = [from.left + from.width, from.middle + 13 * port, to.left, to.middle];
  const bend = x2 > x1 ? Math.min(75, (x2 - x1) / 2) : 60;
  return `<path d="M${x1} ${y1}C${x1 + bend} ${y1} ${x2 - bend} ${y2} ${x2} ${y2}"/>`;
}

/** @param {Place} node */
function shape({ type, label, width, height, left, top, middle }) {
  const color = type.startsWith('remote-printing-') ? COLOR : (COLORS[type] ?? OTHER);
  const box = (/** @type {number} */ x, /** @type {number} */ y, /** @type {number} */ w, /** @type {number} */ h) =>
    `<rect x="${x}" y="${y}" width="${w}" height="${h}" rx="5" fill="${color}"/>`;
  // The button that the reader is told to press.
  const button = type === 'inject' ? box(left - 16, middle - 9, 24, 18) : '';
  const text =
    label === '' ? '' : `<text x="${left + width / 2}" y="${middle + 5}" text-anchor="middle">${escape(label)}</text>`;
  return button + box(left, top, width, height) + text;
}
