// Values that are known now and then.

/** Returns values in which each one lasts until the next known one. Nothing is known before the first, and after the last. */
export function held(values: readonly (number | null)[]): (number | null)[] {
  const last = values.findLastIndex((value) => value !== null);
  let latest: number | null = null;
  return values.map((value, at) => {
    if (at > last) return null;
    latest = value ?? latest;
    return latest;
  });
}
