// Names of methods as they are shown.

import { visible } from './format.ts';
import { NO_METHOD, SHORTER_CALLS } from './tile.ts';

/** Class, name and signature, as the server gives them. */
export type MethodName = readonly [owner: string, name: string, signature: string];

/** Longest name that is measured and drawn. Names of 64 KB exist. */
const LONGEST = 300;

export const SPECIAL: ReadonlyMap<number, string> = new Map([
  [NO_METHOD, 'all calls'],
  [SHORTER_CALLS, '(shorter calls)'],
]);

export function simpleClass(owner: string): string {
  return owner.slice(owner.lastIndexOf('.') + 1);
}

/** `Shop.pay` */
export function shortName([owner, name]: MethodName): string {
  return visible(owner === '' ? name : `${simpleClass(owner)}.${name}`, LONGEST);
}

/** `org.acme.Shop.pay(Order, int): void` */
export function fullName([owner, name, signature]: MethodName): string {
  return visible(owner === '' ? `${name}${signature}` : `${owner}.${name}${signature}`, 2000);
}

/** Returns texts for a box, the longest first. */
export function labels([owner, name]: MethodName): string[] {
  const short = visible(name, LONGEST);
  return owner === '' ? [short] : [`${visible(simpleClass(owner), LONGEST)}.${short}`, short];
}
