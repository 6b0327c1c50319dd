// Saves what the page shows as files.

import { SvgPen, type Pen } from '../draw/pen.ts';
import type { Theme } from '../pure/colour.ts';

export function save(name: string, type: string, text: string): void {
  const address = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = address;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

export function saveSvg(name: string, title: string, width: number, height: number, theme: Theme, draw: (pen: Pen) => void): void {
  const pen = new SvgPen(width, height, title);
  pen.rect(0, 0, width, height, theme.back);
  draw(pen);
  save(name, 'image/svg+xml', pen.finish());
}
