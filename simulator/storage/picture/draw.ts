import { createHash } from 'node:crypto';
import { iso } from '../../world/clock';
import { Canvas, mix, textHeight, textWidth, type Color } from './canvas';
import type { Scene } from '../../world/state';

const WIDTH = 640;
const HEIGHT = 480;
const RIGHT = WIDTH - 10;

const WHITE: Color = [235, 238, 242];
const GREY: Color = [150, 158, 168];
const DARK: Color = [20, 23, 28];
const FRAME: Color = [74, 83, 95];
const PLATE: Color = [62, 70, 80];
const AMBER: Color = [240, 170, 40];
const GREEN: Color = [70, 190, 110];
const RED: Color = [220, 70, 60];

const MATERIALS: Record<string, Color> = {
  Silver: [176, 184, 192],
  Black: [66, 66, 72],
  Red: [200, 52, 48],
  White: [232, 230, 222],
  Green: [60, 160, 84],
};

/** Inside of the printer: y of the plate, greatest height of a part, and x of the center. */
const FLOOR = 356;
const TALLEST = 200;
const MIDDLE = WIDTH / 2;

/** Draws the camera's view of a printer with its part. */
export function draw(scene: Scene): Canvas {
  const canvas = new Canvas(WIDTH, HEIGHT);
  drawPrinter(canvas, scene);
  if (scene.status === 'offline') drawOffline(canvas);
  else {
    const top = scene.job ? drawPart(canvas, scene, scene.job) : FLOOR;
    drawHead(canvas, scene, top);
  }
  drawCaption(canvas, scene);
  return canvas;
}

function drawPrinter(canvas: Canvas, scene: Scene): void {
  canvas.gradient(0, 0, WIDTH, HEIGHT, [44, 50, 58], DARK);
  canvas.rect(84, 44, 472, 352, FRAME);
  canvas.rect(84, 44, 472, 3, mix(FRAME, WHITE, 0.4));
  const lit = scene.status === 'offline' ? 0 : 0.35;
  canvas.gradient(104, 62, 432, 316, mix(DARK, WHITE, lit), mix(DARK, WHITE, lit / 3));
  // A hotter plate is redder.
  const hot = mix(PLATE, RED, Math.min(0.5, Math.max(0, (scene.plate - 30) / 100)));
  canvas.trapezoid(340, [172, 468], 370, [136, 504], hot);
  canvas.rect(136, 371, 368, 6, mix(hot, DARK, 0.5));
}

function drawOffline(canvas: Canvas): void {
  const text = 'OFFLINE';
  canvas.text(text, MIDDLE - textWidth(text, 6) / 2, 200, GREY, 6);
}

/** Draws the printed part, with the outline of the rest; returns the y of its top. */
function drawPart(canvas: Canvas, scene: Scene, job: NonNullable<Scene['job']>): number {
  const color = materialColor(scene.color);
  const width = silhouette(job.name);
  const bands = Math.min(job.layers, TALLEST / 2);
  const top = FLOOR - Math.round((TALLEST * job.layer) / job.layers);
  for (let y = FLOOR; y > FLOOR - TALLEST; y--) {
    const height = (FLOOR - y) / TALLEST;
    const half = width(height);
    if (y < top) {
      if (y % 4 === 0) for (const x of [MIDDLE - half, MIDDLE + half]) canvas.set(x, y, GREY);
      continue;
    }
    const band = Math.floor(height * bands) % 2 === 0 ? 0 : 0.12;
    for (let x = -half; x < half; x++) {
      const edge = Math.abs(x / half) ** 3;
      canvas.set(MIDDLE + x, y, mix(mix(color, DARK, 0.6 * edge), WHITE, band * (1 - edge)));
    }
  }
  if (job.layer > 0) drawTop(canvas, top, width((FLOOR - top) / TALLEST), mix(color, WHITE, 0.3));
  return top;
}

/** Draws the top layer, viewed slightly from above. */
function drawTop(canvas: Canvas, top: number, half: number, color: Color): void {
  for (let y = -6; y <= 6; y++) {
    const reach = half * Math.sqrt(1 - (y / 6.5) ** 2);
    canvas.row(MIDDLE - reach, MIDDLE + reach, top + y, color);
  }
}

function drawHead(canvas: Canvas, scene: Scene, top: number): void {
  const works = scene.job?.status === 'printing';
  const x = works ? MIDDLE - 70 + 140 * scene.head : 150;
  const y = works ? top - 1 : Math.min(150, top - 1);
  canvas.rect(104, y - 40, 432, 6, mix(FRAME, WHITE, 0.3));
  canvas.rect(x - 17, y - 54, 34, 36, mix(FRAME, WHITE, 0.15));
  canvas.rect(x - 13, y - 50, 26, 6, lamp(scene));
  const tip = mix([190, 150, 60], RED, Math.min(0.8, Math.max(0, (scene.nozzle - 40) / 200)));
  canvas.trapezoid(y - 18, [x - 9, x + 9], y, [x - 2, x + 3], tip);
}

function lamp({ status, job }: Scene): Color {
  if (status === 'error' || status === 'unreachable') return RED;
  if (job === null || status === 'idle') return GREEN;
  return job.status === 'printing' ? WHITE : AMBER;
}

function drawCaption(canvas: Canvas, scene: Scene): void {
  canvas.rect(0, 0, WIDTH, 28, DARK);
  canvas.text(fitted(scene.printer, 340), 12, 7, WHITE);
  canvas.textUpTo(iso(scene.takenAt).slice(0, 19).replace('T', ' '), RIGHT, 7, GREY);

  canvas.rect(0, 400, WIDTH, 80, DARK);
  const { job } = scene;
  const [first, second, third] = [408, 408 + textHeight() + 5, 408 + 2 * (textHeight() + 5)] as const;
  const words = (text: string): string => text.replaceAll('_', ' ');
  canvas.text(job ? fitted(job.name, WIDTH - 24) : words(scene.status), 12, first, WHITE);
  if (scene.status !== 'offline') {
    const material = scene.material === null ? 'no material' : `${scene.material} ${scene.color ?? ''}`;
    canvas.text(`nozzle ${Math.round(scene.nozzle)}°C  plate ${Math.round(scene.plate)}°C`, 12, third, GREY);
    canvas.textUpTo(material, RIGHT, third, GREY);
  }
  if (!job) return;
  canvas.text(`${words(job.status)}  layer ${job.layer}/${job.layers}  ${job.percent}%`, 12, second, WHITE);
  if (scene.status !== 'idle') canvas.textUpTo(`${duration(job.left)} left`, RIGHT, second, GREY);
  canvas.rect(12, 468, WIDTH - 24, 6, mix(DARK, WHITE, 0.2));
  canvas.rect(12, 468, ((WIDTH - 24) * job.percent) / 100, 6, lamp(scene) === RED ? RED : GREEN);
}

function fitted(text: string, width: number): string {
  const most = Math.floor(width / textWidth('x'));
  const letters = [...text];
  return letters.length <= most ? text : `${letters.slice(0, most - 2).join('')}..`;
}

/** Formats a duration as `1:02:03`. */
function duration(seconds: number): string {
  const [hours, minutes] = [Math.floor(seconds / 3600), Math.floor(seconds / 60) % 60];
  return [hours, minutes, seconds % 60].map((part, index) => String(part).padStart(index === 0 ? 1 : 2, '0')).join(':');
}

const materialColor = (name: string | null): Color => MATERIALS[name ?? ''] ?? [150, 120, 190];

/** Returns half the width of the part by its height (0 to 1); the shape depends on the name. */
function silhouette(name: string): (height: number) => number {
  const [a, b, c] = createHash('sha256').update(name).digest();
  const phase = (2 * Math.PI * a!) / 255;
  const turns = 1 + (b! % 3);
  const base = 46 + c! / 8;
  return (height) => base + 20 * Math.sin(phase + turns * Math.PI * height) - 14 * height;
}
