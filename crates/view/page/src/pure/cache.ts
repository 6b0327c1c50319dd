// A cache whose size has a limit: what was not used for the longest time goes first.

export class Cache<Value> {
  private readonly entries = new Map<string, { value: Value; size: number }>();
  private used = 0;

  constructor(private readonly limit: number) {}

  get size(): number {
    return this.used;
  }

  get count(): number {
    return this.entries.size;
  }

  /** Returns a value, and keeps it for longer. */
  get(key: string): Value | undefined {
    const entry = this.entries.get(key);
    if (!entry) return undefined;
    this.entries.delete(key);
    this.entries.set(key, entry);
    return entry.value;
  }

  set(key: string, value: Value, size: number): void {
    this.delete(key);
    this.entries.set(key, { value, size });
    this.used += size;
    for (const oldest of this.entries.keys()) {
      if (this.used <= this.limit || oldest === key) break;
      this.delete(oldest);
    }
  }

  *values(): Generator<Value> {
    for (const { value } of this.entries.values()) yield value;
  }

  delete(key: string): void {
    const entry = this.entries.get(key);
    if (!entry) return;
    this.used -= entry.size;
    this.entries.delete(key);
  }

  clear(): void {
    this.entries.clear();
    this.used = 0;
  }
}
