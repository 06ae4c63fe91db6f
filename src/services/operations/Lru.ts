/** A bounded map that evicts the least recently used entry. */
export class Lru<K, V> {
  private readonly entries = new Map<K, V>()
  /** The most recently used key; reading it again needs no reordering. */
  private newest: K | undefined
  readonly max: number
  constructor(max: number) {
    this.max = max
  }
  get(key: K): V | undefined {
    const value = this.entries.get(key)
    if (value === undefined || key === this.newest) return value
    this.newest = key
    this.entries.delete(key)
    this.entries.set(key, value)
    return value
  }
  set(key: K, value: V): void {
    this.newest = key
    this.entries.delete(key)
    if (this.entries.size >= this.max) this.entries.delete(this.entries.keys().next().value!)
    this.entries.set(key, value)
  }
  delete(key: K): void {
    this.entries.delete(key)
  }
}
