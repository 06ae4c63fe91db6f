/**
 * Which small integers are taken: the places of open orders in columns and lists. The lowest free one is given, so places
 * stay dense, and which one it is follows from those that are taken and from nothing of the past.
 *
 * The free ones are bits of a tree of words, 32 to a word; a bit of an upper word says that the word below has one.
 */

/** Bits of a slot's number. */
export const SLOT_BITS = 22
/** Slots there are: more than the open orders that memory holds. */
export const SLOTS_MAX = 1 << SLOT_BITS

const WORD_BITS = 5
const WORD = 1 << WORD_BITS
const BIT = WORD - 1

const lowestBit = (word: number): number => 31 - Math.clz32(word & -word)

export interface Slots {
  /** Takes the lowest free slot. Throws where all are taken. */
  readonly take: () => number
  /** Takes a certain slot, which must be free. */
  readonly takeAt: (slot: number) => void
  readonly free: (slot: number) => void
}

/**
 * The words stand in one row, the root first and the children of word i from 32i + 1 on. Only the
 * first words of a depth are there at the top; the bottom, a bit a slot, begins here.
 */
const BOTTOM = (() => {
  let first = 0
  for (let words = SLOTS_MAX / WORD; words > 1; words /= WORD) first = first * WORD + 1
  return first
})()

/** A class, so that its methods exist once and the compiler knows the constants that they use. */
class SlotTree implements Slots {
  private readonly words = new Int32Array(BOTTOM + SLOTS_MAX / WORD)
  /** The first word of the bottom that has a free slot; where all are taken, any. */
  private first = BOTTOM

  constructor() {
    this.words.fill(-1, BOTTOM)
    for (let word = this.words.length - 1; word > 0; word--)
      if (this.words[word] !== 0) this.words[(word - 1) >> WORD_BITS]! |= 1 << ((word - 1) & BIT)
  }

  take(): number {
    const word = this.first
    const bits = this.words[word]!
    if (bits === 0) throw new Error("all slots are taken")
    const rest = bits & (bits - 1)
    this.words[word] = rest
    if (rest === 0) this.close(word)
    return ((word - BOTTOM) << WORD_BITS) + lowestBit(bits)
  }
  takeAt(slot: number): void {
    const word = BOTTOM + (slot >>> WORD_BITS)
    const bit = 1 << (slot & BIT)
    if ((this.words[word]! & bit) === 0) throw new Error(`slot ${slot} is taken`)
    this.words[word]! &= ~bit
    if (this.words[word] === 0) this.close(word)
  }
  free(slot: number): void {
    const word = BOTTOM + (slot >>> WORD_BITS)
    const bit = 1 << (slot & BIT)
    const bits = this.words[word]!
    if ((bits & bit) !== 0) throw new Error(`slot ${slot} is free`)
    if (word < this.first || this.words[this.first] === 0) this.first = word
    if (bits === 0) this.open(word)
    this.words[word] = bits | bit
  }

  /** A word of the bottom has no free slot any more: the words above must know, and the first is another if it was this. */
  private close(bottom: number): void {
    const { words } = this
    let word = bottom
    do {
      const child = word - 1
      word = child >> WORD_BITS
      words[word]! &= ~(1 << (child & BIT))
    } while (words[word] === 0 && word > 0)
    if (bottom !== this.first || words[word] === 0) return
    // nothing before the first was free, so the lowest bit that is left leads to the next
    while (word < BOTTOM) word = (word << WORD_BITS) + 1 + lowestBit(words[word]!)
    this.first = word
  }
  /** A word of the bottom has a free slot again. */
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
