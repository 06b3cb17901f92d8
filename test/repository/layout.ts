/** Positions of nodes and wires in the editor, as in `generateLinkPath` and the node sizes of Node-RED's view. */

export interface Drawn {
  id: string;
  type: string;
  name?: string;
  x: number;
  y: number;
  outputs?: number;
  wires?: string[][];
}
export interface Box {
  left: number;
  right: number;
  top: number;
  bottom: number;
}
type Point = [x: number, y: number];
type Curve = [Point, Point, Point, Point];

const NODE_WIDTH = 100;
const NODE_HEIGHT = 30;
/** Distance between two ports of a node. */
const PORTS = 13;
/** Width by which the buttons of inject and debug nodes protrude. */
const BUTTON = 26;
const WITHOUT_INPUT = ['inject', 'comment', 'catch', 'http in', 'mqtt in', 'link in'];
const SAMPLES = 40;

/** Box of a node without its button. Its width is estimated from an average letter. */
function body({ type, name, x, y, wires = [] }: Drawn): Box {
  const label = name ? name : type.replace('remote-printing-', '');
  const input = WITHOUT_INPUT.includes(type) ? 0 : 7;
  const labelled = Math.max(NODE_WIDTH, 20 * Math.ceil((label.length * 7.2 + 50 + input) / 20));
  const width = type.startsWith('link ') ? NODE_HEIGHT : labelled;
  const height = Math.max(NODE_HEIGHT, 15 * wires.length);
  return { left: x - width / 2, right: x + width / 2, top: y - height / 2, bottom: y + height / 2 };
}

export function box(node: Drawn): Box {
  const { left, right, top, bottom } = body(node);
  return {
    left: left - (node.type === 'inject' ? BUTTON : 0),
    right: right + (node.type === 'debug' ? BUTTON : 0),
    top,
    bottom,
  };
}

/** Points on the wire from an output of a node to another node. */
export function wire(from: Drawn, output: number, to: Drawn): Point[] {
  const outputs = from.wires?.length ?? 1;
  const origin: Point = [body(from).right, from.y + PORTS * (output - (outputs - 1) / 2)];
  const end: Point = [body(to).left, to.y];
  const curves = end[0] > origin[0] ? forward(origin, end) : backward(origin, end);
  return curves.flatMap(sampled);
}

function forward(origin: Point, end: Point): Curve[] {
  const length = Math.hypot(end[0] - origin[0], end[1] - origin[1]);
  const reach = NODE_WIDTH * 0.75 * Math.min(1, length / NODE_WIDTH);
  return [[origin, [origin[0] + reach, origin[1]], [end[0] - reach, end[1]], end]];
}

/** Curves to the right, then to the left between the two heights, then to the right again. */
function backward([x, y]: Point, [endX, endY]: Point): Curve[] {
  const [dx, dy] = [endX - x, endY - y];
  if (Math.abs(dy) < 10) return below([x, y], [endX, endY]);
  const scale = 0.4 - 0.2 * Math.max(0, (NODE_WIDTH - Math.min(Math.abs(dx), Math.abs(dy))) / NODE_WIDTH);
  const half = NODE_HEIGHT / 2;
  const down = dy > 0;
  const [nearer, further] = down ? [Math.min, Math.max] : [Math.max, Math.min];
  const sign = down ? 1 : -1;
  const middle: Point = [Math.floor(endX - dx / 2), Math.floor(endY - dy / 2)];
  const y1 = (endY + middle[1]) / 2;
  const top: Point = [x + NODE_WIDTH * scale, nearer(y1 - dy / 2, y + sign * half)];
  const bottom: Point = [endX - NODE_WIDTH * scale, further(y1, endY - sign * half)];
  // Each control point after the first is mirrored for the next curve, as `S` does in SVG.
  const before: Point = [top[0], further(y, top[1] - sign * half)];
  const beforeMiddle: Point = [(x + top[0]) / 2, nearer(middle[1], top[1] + sign * half)];
  const beforeBottom: Point = [bottom[0], further(middle[1], bottom[1] - sign * half)];
  const mirrored = ([px, py]: Point, [cx, cy]: Point): Point => [2 * cx - px, 2 * cy - py];
  return [
    [[x, y], [(x + top[0]) / 2, y], before, top],
    [top, mirrored(before, top), beforeMiddle, middle],
    [middle, mirrored(beforeMiddle, middle), beforeBottom, bottom],
    [bottom, mirrored(beforeBottom, bottom), [(endX + bottom[0]) / 2, endY], [endX, endY]],
  ];
}

/** Curves around and below both nodes. */
function below([x, y]: Point, [endX, endY]: Point): Curve[] {
  const low = Math.max(y, endY) + 25;
  return [
    [
      [x, y],
      [x + 25, y],
      [x + 25, low],
      [x, low],
    ],
    [
      [x, low],
      [x, low],
      [endX, low],
      [endX, low],
    ],
    [
      [endX, low],
      [endX - 25, low],
      [endX - 25, endY],
      [endX, endY],
    ],
  ];
}

function sampled([a, b, c, d]: Curve): Point[] {
  return Array.from({ length: SAMPLES + 1 }, (_, index) => {
    const t = index / SAMPLES;
    const at = (axis: 0 | 1) =>
      (1 - t) ** 3 * a[axis] + 3 * (1 - t) ** 2 * t * b[axis] + 3 * (1 - t) * t ** 2 * c[axis] + t ** 3 * d[axis];
    return [at(0), at(1)];
  });
}
