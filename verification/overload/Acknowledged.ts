/** Acknowledged orders that no private socket has shown yet. */

/** Shown orders per generation, of two: an acknowledgement follows its event within so many. */
const SHOWN_MAX = 200_000

export class Acknowledged {
  /** Acknowledged orders. */
  count = 0
  private readonly waiting = new Set<string>()
  private shown = new Set<string>()
  private before = new Set<string>()

  /** Acknowledged orders without an event. */
  get unseen(): number {
    return this.waiting.size
  }
  accept(order_id: string): void {
    this.count++
    if (!this.shown.has(order_id) && !this.before.has(order_id)) this.waiting.add(order_id)
  }
  show(order_id: string): void {
    if (this.waiting.delete(order_id)) return
    if (this.shown.size >= SHOWN_MAX) {
      this.before = this.shown
      this.shown = new Set()
    }
    this.shown.add(order_id)
  }
}
