/**
 * A bounded queue that serves its owners in turn, one item each, so that an owner who queues much delays only itself.
 *
 * There is no room for another item of an owner whose oldest item is too old: the next one would wait as long. Any owner may fill
 * half of the queue. Beyond, an owner holds at most an equal share of the whole, counted as if there were one owner more, so that
 * there is room for a new one.
 */

/** An item in the queue; give it to `remove` to take it out. */
export interface Queued<A> {
  readonly owner: string
  readonly item: A
  /** Monotonic, in ms. */
  readonly since_ms: number
  isOver: boolean
}

/** Items of one owner, oldest first. */
class Line<A> {
  private items: Array<Queued<A>> = []
  private first = 0
  /** Items that are not over. */
  size = 0

  push(queued: Queued<A>): void {
    this.items.push(queued)
    this.size++
  }
  /** The oldest item. */
  head(): Queued<A> | undefined {
    while (this.first < this.items.length && this.items[this.first]!.isOver) this.first++
    if (this.first > 64 && this.first * 2 > this.items.length) {
      this.items = this.items.slice(this.first)
      this.first = 0
    }
    return this.items[this.first]
  }
}

export class FairQueue<A> {
  private readonly max: number
  private readonly age_ms_max: number
  /** By owner; the first one is next. */
  private readonly lines = new Map<string, Line<A>>()
  private count = 0

  /** `max`: items of all owners; `age_ms_max`: of an owner's oldest item, beyond which it may add none. */
  constructor(max: number, age_ms_max: number) {
    this.max = max
    this.age_ms_max = age_ms_max
  }

  get size(): number {
    return this.count
  }

  /** Whether there is room for another item of an owner, or, where the owner is not known, of any owner. */
  hasRoom(owner: string | undefined, now: number): boolean {
    if (this.count >= this.max) return false
    const line = owner === undefined ? undefined : this.lines.get(owner)
    if (line === undefined) return true
    if (now - line.head()!.since_ms > this.age_ms_max) return false
    return this.count * 2 < this.max || line.size < this.max / (this.lines.size + 1)
  }

  /** Adds an item; the caller has looked whether there is room. */
  push(owner: string, item: A, now: number): Queued<A> {
    const queued: Queued<A> = { owner, item, since_ms: now, isOver: false }
    let line = this.lines.get(owner)
    if (line === undefined) {
      line = new Line()
      this.lines.set(owner, line)
    }
    line.push(queued)
    this.count++
    return queued
  }

  /** Takes the oldest item of the owner whose turn it is. */
  shift(): A | undefined {
    for (const [owner, line] of this.lines) {
      const queued = line.head()!
      this.remove(queued)
      // its next item waits until the others had their turn
      if (this.lines.delete(owner) && line.size > 0) this.lines.set(owner, line)
      return queued.item
    }
    return undefined
  }

  /** Takes an item out, wherever it is; one that is out already stays so. */
  remove(queued: Queued<A>): void {
    if (queued.isOver) return
    queued.isOver = true
    this.count--
    const line = this.lines.get(queued.owner)!
    if (--line.size === 0) this.lines.delete(queued.owner)
  }

  /** Takes out and returns what has waited since before `before_ms`. */
  expired(before_ms: number): ReadonlyArray<A> {
    const late: Array<A> = []
    for (const line of this.lines.values()) {
      for (let head = line.head(); head !== undefined && head.since_ms < before_ms; head = line.head()) {
        this.remove(head)
        late.push(head.item)
      }
    }
    return late
  }
}
