/**
 * Allocates small integers: the indices of open orders in arrays. The lowest free slot is allocated, so that slots stay
 * dense and depend only on the slots in use, not on history.
 *
 * Free slots are bits in a tree of 32-bit words. A bit in an upper word means that the word below has a free slot.
 */

/** Bits of a slot number. */
export const SLOT_BITS = 22
/** Number of slots: more than the open orders that memory can hold. */
export const SLOTS_MAX = 1 << SLOT_BITS

const WORD_BITS = 5
const WORD = 1 << WORD_BITS
const BIT = WORD - 1

const lowestBit = (word: number): number => 31 - Math.clz32(word & -word)

export interface Slots {
  /** Allocates the lowest free slot. Throws where none is free. */
  readonly take: () => number
  /** Allocates a given slot, which must be free. */
  readonly takeAt: (slot: number) => void
  readonly free: (slot: number) => void
}

/**
 * The words are one array, the root first; the children of word i start at 32i + 1. The bottom level, one bit per slot,
 * begins at this index.
 */
const BOTTOM = (() => {
  let first = 0
  for (let words = SLOTS_MAX / WORD; words > 1; words /= WORD) first = first * WORD + 1
  return first
})()

/** A class, so that its methods are shared and the compiler inlines constants. */
class SlotTree implements Slots {
  private readonly words = new Int32Array(BOTTOM + SLOTS_MAX / WORD)
  /** The first bottom word with a free slot; any bottom word where none is free. */
  private first = BOTTOM

  constructor() {
    this.words.fill(-1, BOTTOM)
    for (let word = this.words.length - 1; word > 0; word--)
      if (this.words[word] !== 0) this.words[(word - 1) >> WORD_BITS]! |= 1 << ((word - 1) & BIT)
  }

  take(): number {
    const word = this.first
    const bits = this.words[word]!
    if (bits === 0) throw new Error("all slots are in use")
    const rest = bits & (bits - 1)
    this.words[word] = rest
    if (rest === 0) this.close(word)
    return ((word - BOTTOM) << WORD_BITS) + lowestBit(bits)
  }
  takeAt(slot: number): void {
    const word = BOTTOM + (slot >>> WORD_BITS)
    const bit = 1 << (slot & BIT)
    if ((this.words[word]! & bit) === 0) throw new Error(`slot ${slot} is in use`)
    this.words[word]! &= ~bit
    if (this.words[word] === 0) this.close(word)
  }
  free(slot: number): void {
    const word = BOTTOM + (slot >>> WORD_BITS)
    const bit = 1 << (slot & BIT)
    const bits = this.words[word]!
    if ((bits & bit) !== 0) throw new Error(`slot ${slot} is free already`)
    if (word < this.first || this.words[this.first] === 0) this.first = word
    if (bits === 0) this.open(word)
    this.words[word] = bits | bit
  }

  /** Clears the bits above a bottom word that has become full, and finds the next free word where it was the first. */
  private close(bottom: number): void {
    const { words } = this
    let word = bottom
    do {
      const child = word - 1
      word = child >> WORD_BITS
      words[word]! &= ~(1 << (child & BIT))
    } while (words[word] === 0 && word > 0)
    if (bottom !== this.first || words[word] === 0) return
    // no word before it has a free slot, so the lowest set bits lead to the next free word
    while (word < BOTTOM) word = (word << WORD_BITS) + 1 + lowestBit(words[word]!)
    this.first = word
  }
  /** Sets the bits above a bottom word that has a free slot again. */
  private open(bottom: number): void {
    const { words } = this
    for (let word = bottom; word > 0;) {
      const child = word - 1
      word = child >> WORD_BITS
      const bits = words[word]!
      words[word] = bits | (1 << (child & BIT))
      if (bits !== 0) return
    }
  }
}

export const make = (): Slots => new SlotTree()
