/**
 * Which small integers are taken: the places of open orders in columns and lists. The lowest free one is given, so places
 * stay dense, and which one it is follows from those that are taken and from nothing of the past.
 *
 * The free ones are bits of a tree of words, 32 to a word; a bit of an upper word says that the word below has one.
 */

/** Bits of a slot's number. */
export const SLOT_BITS = 22
/** Slots there are: more than the open orders that memory holds. */
export const SLOTS_MAX = 2 ** SLOT_BITS

const WORD_BITS = 5
const WORD = 2 ** WORD_BITS

const lowestBit = (word: number): number => 31 - Math.clz32(word & -word)

export interface Slots {
  /** Takes the lowest free slot. Throws where all are taken. */
  readonly take: () => number
  /** Takes a certain slot, which must be free. */
  readonly takeAt: (slot: number) => void
  readonly free: (slot: number) => void
}

export const make = (): Slots => {
  /** a bit a slot at the bottom, one word at the top */
  const tree: Array<Int32Array> = []
  let bits = SLOTS_MAX
  for (; bits > WORD; bits /= WORD) tree.push(new Int32Array(bits / WORD).fill(-1))
  const top = tree.push(Int32Array.of((1 << bits) - 1)) - 1
  const bottom = tree[0]!
  /** the first word of the bottom that has a free slot; where all are taken, any */
  let first = 0

  /** A word of the bottom has no free slot any more: the words above must know, and the first is another if it was this. */
  const close = (bottomWord: number): void => {
    let at = bottomWord
    let depth = 0
    do {
      const words = tree[++depth]!
      const word = at >>> WORD_BITS
      words[word]! &= ~(1 << (at & (WORD - 1)))
      at = word
      if (words[word] !== 0) break
    } while (depth < top)
    if (bottomWord !== first || tree[depth]![at] === 0) return
    // nothing before the first was free, so the lowest bit that is left leads to the next
    for (; depth > 0; depth--) at = (at << WORD_BITS) + lowestBit(tree[depth]![at]!)
    first = at
  }
  /** A word of the bottom has a free slot again. */
  const open = (bottomWord: number): void => {
    let at = bottomWord
    for (let depth = 1; depth <= top; depth++) {
      const words = tree[depth]!
      const above = at >>> WORD_BITS
      const wasFull = words[above] === 0
      words[above]! |= 1 << (at & (WORD - 1))
      if (!wasFull) return
      at = above
    }
  }

  return {
    take: () => {
      const word = first
      const bits = bottom[word]!
      if (bits === 0) throw new Error("all slots are taken")
      const rest = bits & (bits - 1)
      bottom[word] = rest
      if (rest === 0) close(word)
      return (word << WORD_BITS) + lowestBit(bits)
    },
    takeAt: (slot) => {
      const word = slot >>> WORD_BITS
      const bit = 1 << (slot & (WORD - 1))
      if ((bottom[word]! & bit) === 0) throw new Error(`slot ${slot} is taken`)
      bottom[word]! &= ~bit
      if (bottom[word] === 0) close(word)
    },
    free: (slot) => {
      const word = slot >>> WORD_BITS
      const bit = 1 << (slot & (WORD - 1))
      if ((bottom[word]! & bit) !== 0) throw new Error(`slot ${slot} is free`)
      if (word < first || bottom[first] === 0) first = word
      if (bottom[word] === 0) open(word)
      bottom[word]! |= bit
    }
  }
}
