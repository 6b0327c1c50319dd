// Colours: of packages, of heat, of the page's pictures.

/** Red, green and blue, each 0 to 255. */
export type Rgb = readonly [number, number, number];

/** Converts a colour of the OKLCH space; `hue` in degrees. */
export function oklch(lightness: number, chroma: number, hue: number): Rgb {
  const a = chroma * Math.cos((hue * Math.PI) / 180);
  const b = chroma * Math.sin((hue * Math.PI) / 180);
  const l = (lightness + 0.3963377774 * a + 0.2158037573 * b) ** 3;
  const m = (lightness - 0.1055613458 * a - 0.0638541728 * b) ** 3;
  const s = (lightness - 0.0894841775 * a - 1.291485548 * b) ** 3;
  return [
    channel(4.0767416621 * l - 3.3077115913 * m + 0.2309699292 * s),
    channel(-1.2684380046 * l + 2.6097574011 * m - 0.3413193965 * s),
    channel(-0.0041960863 * l - 0.7034186147 * m + 1.707614701 * s),
  ];
}

function channel(linear: number): number {
  const value = linear <= 0.0031308 ? 12.92 * linear : 1.055 * linear ** (1 / 2.4) - 0.055;
  return Math.round(255 * Math.min(1, Math.max(0, value)));
}

export function css([red, green, blue]: Rgb): string {
  return `#${[red, green, blue].map((value) => value.toString(16).padStart(2, '0')).join('')}`;
}

/** Returns a pixel of an image with little-endian words. */
export function pixel([red, green, blue]: Rgb): number {
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

export function hash(text: string): number {
  let value = 2166136261;
  for (let at = 0; at < text.length; at++) value = Math.imul(value ^ text.charCodeAt(at), 16777619);
  value ^= value >>> 15;
  return Math.imul(value, 0x2c1b3c6d) >>> 0;
}

/** Hues of packages in degrees. */
const HUES = [255, 60, 145, 335, 200, 95, 290, 25, 172, 230, 120, 312, 42, 215, 272];

/** Packages of the JDK are pale, so that the program's own code stands out. */
const PALE = /^(java|javax|jdk|sun|com\.sun)(\.|$)/;

export function packageOf(className: string): string {
  return className.slice(0, Math.max(0, className.lastIndexOf('.')));
}

/** Returns the colour of a class: its package has the hue, classes differ a little in lightness. */
export function classColour(className: string, isDark: boolean): Rgb {
  const name = packageOf(className);
  const shade = ((hash(className) % 7) - 3) * 0.011;
  if (PALE.test(name) || name === '') return oklch((isDark ? 0.43 : 0.87) + shade, isDark ? 0.022 : 0.02, 235 + (hash(name) % 60));
  return oklch((isDark ? 0.52 : 0.81) + shade, isDark ? 0.095 : 0.1, HUES[hash(name) % HUES.length]!);
}

/** Returns the colour of a cell of the heat map; `share` from 0 to 1. */
export function heatColour(share: number, isDark: boolean): Rgb {
  if (!(share > 0)) return isDark ? [27, 30, 37] : [244, 245, 248];
  // The eye tells small values apart better on a root scale.
  const part = Math.sqrt(Math.min(1, share));
  return isDark ? oklch(0.3 + 0.55 * part, 0.05 + 0.09 * part, 262 - 190 * part ** 1.5) : oklch(0.93 - 0.5 * part, 0.03 + 0.13 * part, 235 + 45 * part);
}

/** Colours of the pictures that are not computed from names. */
export interface Theme {
  isDark: boolean;
  back: string;
  raised: string;
  line: string;
  faint: string;
  text: string;
  dim: string;
  accent: string;
  match: string;
  boxText: string;
  unknown: Rgb;
  blocked: string;
  waiting: string;
  parked: string;
  exception: string;
  missing: string;
  collection: string;
  heap: string;
  mark: string;
  burst: string;
}

export const LIGHT: Theme = {
  isDark: false,
  back: '#ffffff',
  raised: '#f6f7f9',
  line: '#d9dce3',
  faint: '#eceef2',
  text: '#1c1e24',
  dim: '#5d6472',
  accent: '#1f5fd0',
  match: '#c2188f',
  boxText: '#16181d',
  unknown: [214, 218, 226],
  blocked: '#b3261e',
  waiting: '#7a6a2c',
  parked: '#5f6c80',
  exception: '#b3261e',
  missing: '#8a5a00',
  collection: '#0b7a75',
  heap: '#4c6fb5',
  mark: '#7036b8',
  burst: '#b35900',
};

export const DARK: Theme = {
  isDark: true,
  back: '#14161b',
  raised: '#1b1e25',
  line: '#343945',
  faint: '#23272f',
  text: '#e9ebf0',
  dim: '#9aa3b4',
  accent: '#7aa8ff',
  match: '#ff7ad2',
  boxText: '#f4f5f8',
  unknown: [58, 64, 76],
  blocked: '#ff8a80',
  waiting: '#d8c26a',
  parked: '#93a1b8',
  exception: '#ff8a80',
  missing: '#f0b84a',
  collection: '#4fd1c5',
  heap: '#86a8ee',
  mark: '#c79bff',
  burst: '#ffae5c',
};
