/** Recent links per generation in memory, of two generations; older ones are read from the file. */
const RECENT_LINKS_MAX = 50_000

/** Two generations of recent links. */
export class RecentLinks {
  private recent = new Map<string, string>()
  private before = new Map<string, string>()

  get(key: string): string | undefined {
    return this.recent.get(key) ?? this.before.get(key)
  }

  set(key: string, order_id: string): void {
    if (this.recent.size >= RECENT_LINKS_MAX) {
      this.before = this.recent
      this.recent = new Map()
    }
    this.recent.set(key, order_id)
  }

  clear(): void {
    this.recent.clear()
    this.before.clear()
  }
}
