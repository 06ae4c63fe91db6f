/** A binary min-heap that finds its items, so that any of them can be removed or moved in logarithmic time. */

interface Entry<A> {
  readonly item: A
  key: number
  /** Orders items with equal keys. */
  tie: number
  /** Index in the heap. */
  place: number
}

const isBefore = <A>(a: Entry<A>, b: Entry<A>): boolean => a.key < b.key || (a.key === b.key && a.tie < b.tie)

/** A class, so that its methods are shared. */
class IndexedHeap<A> {
  private readonly heap: Array<Entry<A>> = []
  private readonly entries = new Map<A, Entry<A>>()

  get size(): number {
    return this.heap.length
  }

  /** The item with the lowest key. */
  first(): A | undefined {
    return this.heap[0]?.item
  }

  /** The lowest key; undefined where the heap is empty. */
  firstKey(): number | undefined {
    return this.heap[0]?.key
  }

  /** Adds an item, or moves it to another key. */
  set(item: A, key: number, tie = 0): void {
    let entry = this.entries.get(item)
    if (entry === undefined) {
      entry = { item, key, tie, place: this.heap.length }
      this.entries.set(item, entry)
      this.heap.push(entry)
    }
    entry.key = key
    entry.tie = tie
    this.settle(entry)
  }

  /** Removes an item; returns whether it was there. */
  remove(item: A): boolean {
    const entry = this.entries.get(item)
    if (entry === undefined) return false
    this.entries.delete(item)
    const last = this.heap.pop()!
    if (last === entry) return true
    this.put(last, entry.place)
    this.settle(last)
    return true
  }

  /** All items, lowest first. */
  sorted(): Array<A> {
    return this.heap.toSorted((a, b) => (isBefore(a, b) ? -1 : 1)).map(({ item }) => item)
  }

  private put(entry: Entry<A>, place: number): void {
    this.heap[place] = entry
    entry.place = place
  }

  /** Sifts an entry up or down from its place. */
  private settle(entry: Entry<A>): void {
    const { heap } = this
    let { place } = entry
    while (place > 0) {
      const above = heap[(place - 1) >>> 1]!
      if (!isBefore(entry, above)) break
      this.put(above, place)
      place = (place - 1) >>> 1
    }
    while (true) {
      const left = heap[2 * place + 1]
      const right = heap[2 * place + 2]
      const below = right !== undefined && isBefore(right, left!) ? right : left
      if (below === undefined || !isBefore(below, entry)) break
      const freed = below.place
      this.put(below, place)
      place = freed
    }
    this.put(entry, place)
  }
}

export type Heap<A> = IndexedHeap<A>

export const make = <A>(): Heap<A> => new IndexedHeap()
