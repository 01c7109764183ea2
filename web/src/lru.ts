// A map that forgets what was longest unused.

export class Lru<K, V> {
  private readonly map = new Map<K, V>();
  constructor(private readonly limit: number, private readonly dropped: (value: V) => void = () => {}) {}

  get size(): number {
    return this.map.size;
  }

  /** Looks, and marks as used. */
  get(key: K): V | undefined {
    const value = this.map.get(key);
    if (value === undefined) return undefined;
    this.map.delete(key);
    this.map.set(key, value);
    return value;
  }

  /** Looks, and leaves the order alone. */
  peek(key: K): V | undefined {
    return this.map.get(key);
  }

  set(key: K, value: V): void {
    this.map.delete(key);
    this.map.set(key, value);
    while (this.map.size > this.limit) {
      const [oldest, old] = this.map.entries().next().value as [K, V];
      this.map.delete(oldest);
      this.dropped(old);
    }
  }

  delete(key: K): void {
    this.map.delete(key);
  }

  clear(): void {
    for (const value of this.map.values()) this.dropped(value);
    this.map.clear();
  }
}
