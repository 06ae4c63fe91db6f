/**
 * A bounded queue that serves its owners in turn, one item each, so that an owner with many items delays only itself.
 *
 * An owner whose oldest item is too old may not add another, which would wait as long. Any owner may fill half of the
 * queue. Beyond that, an owner may hold at most an equal share of the whole, computed with one additional owner, so
 * that a new owner has room.
 */

/** A queued item; pass it to `remove` to remove it. */
export interface Queued<A> {
  readonly owner: string
  readonly item: A
  /** Monotonic, in ms. */
  readonly since_ms: number
  isOver: boolean
}

/** Items of one owner, oldest first. */
class OwnerQueue<A> {
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
  /** By owner; the first entry is served next. */
  private readonly queues = new Map<string, OwnerQueue<A>>()
  private count = 0

  /** `max`: items of all owners; `age_ms_max`: age of an owner's oldest item beyond which it may add none. */
  constructor(max: number, age_ms_max: number) {
    this.max = max
    this.age_ms_max = age_ms_max
  }

  get size(): number {
    return this.count
  }

  /** Whether another item of an owner fits or, for an unknown owner, an item of any owner. */
  hasRoom(owner: string | undefined, now: number): boolean {
    if (this.count >= this.max) return false
    const own = owner === undefined ? undefined : this.queues.get(owner)
    if (own === undefined) return true
    if (now - own.head()!.since_ms > this.age_ms_max) return false
    return this.count * 2 < this.max || own.size < this.max / (this.queues.size + 1)
  }

  /** Adds an item; the caller has checked that there is room. */
  push(owner: string, item: A, now: number): Queued<A> {
    const queued: Queued<A> = { owner, item, since_ms: now, isOver: false }
    let own = this.queues.get(owner)
    if (own === undefined) {
      own = new OwnerQueue()
      this.queues.set(owner, own)
    }
    own.push(queued)
    this.count++
    return queued
  }

  /** Removes and returns the oldest item of the next owner. */
  shift(): A | undefined {
    for (const [owner, own] of this.queues) {
      const queued = own.head()!
      this.remove(queued)
      // move the owner behind the others
      if (this.queues.delete(owner) && own.size > 0) this.queues.set(owner, own)
      return queued.item
    }
    return undefined
  }

  /** Removes an item; no effect if it was removed before. */
  remove(queued: Queued<A>): void {
    if (queued.isOver) return
    queued.isOver = true
    this.count--
    const own = this.queues.get(queued.owner)!
    if (--own.size === 0) this.queues.delete(queued.owner)
  }

  /** Removes and returns the items queued before `before_ms`. */
  expired(before_ms: number): ReadonlyArray<A> {
    const late: Array<A> = []
    for (const own of this.queues.values()) {
      for (let head = own.head(); head !== undefined && head.since_ms < before_ms; head = own.head()) {
        this.remove(head)
        late.push(head.item)
      }
    }
    return late
  }
}
