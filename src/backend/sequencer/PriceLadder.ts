/**
 * A sparse ordered map from integers to small integers: one side of a book, from prices to its levels, the highest first.
 *
 * Keys lie in pages of 256. A page knows by two levels of bits which of its keys are there (a word of 32 keys, a summary
 * of the words), so the highest one costs two `clz32`; the pages that hold anything are a sorted list, the highest last.
 * A price far from the others costs one page, not a range.
 */

/** No entry. Values are never negative. */
export const NONE = -1

const WORD_KEYS = 32
const PAGE_WORDS = 8
const PAGE_KEYS = WORD_KEYS * PAGE_WORDS
/** Emptied pages that are kept for the next key near them; more are let go. */
const EMPTY_PAGES_MAX = 64
/** Pages that are found without the map, each where the low bits of its number say. */
const NEAR_PAGES = 64

interface Page {
  /** its first key is number × PAGE_KEYS */
  readonly number: number
  /** by the low bits of the key; NONE: it is not there */
  readonly values: Int32Array
  readonly words: Int32Array
  /** bit i: word i has a bit */
  summary: number
}

const makePage = (number: number): Page => ({
  number,
  values: new Int32Array(PAGE_KEYS).fill(NONE),
  words: new Int32Array(PAGE_WORDS),
  summary: 0
})
/** A page without a number, which stays empty. */
const nowhere = makePage(Number.NaN)

export interface PriceLadder {
  /** The value of a key; {@link NONE} where there is none. */
  readonly get: (key: number) => number
  readonly set: (key: number, value: number) => void
  /** Takes a key out that is there. */
  readonly remove: (key: number) => void
  /** The value of the highest key. */
  readonly highest: () => number
  /** The value of the next key below one, which need not be there. */
  readonly below: (key: number) => number
}

const highestBit = (bits: number): number => 31 - Math.clz32(bits)
/** Bits below the `bit`th. */
const lower = (bits: number, bit: number): number => bits & ((1 << bit) - 1)

/** The value of a page's highest key; the page holds one. */
const top = ({ summary, values, words }: Page): number => {
  const word = highestBit(summary)
  return values[word * WORD_KEYS + highestBit(words[word]!)]!
}

/** The value of a page's highest key below a place in it. */
const topBelow = ({ summary, values, words }: Page, place: number): number => {
  const word = place >>> 5
  const beside = lower(words[word]!, place & 31)
  if (beside !== 0) return values[word * WORD_KEYS + highestBit(beside)]!
  const others = lower(summary, word)
  if (others === 0) return NONE
  const other = highestBit(others)
  return values[other * WORD_KEYS + highestBit(words[other]!)]!
}

export const make = (): PriceLadder => {
  const pages = new Map<number, Page>()
  /** pages that hold something, the lowest first */
  const filled: Array<Page> = []
  /** those of the pages that were asked for lately */
  const near: Array<Page> = Array.from({ length: NEAR_PAGES }, () => nowhere)

  // right for all safe integers, negative ones too: & takes the low bits of the two's complement
  const placeOf = (key: number): number => key & (PAGE_KEYS - 1)
  const numberOf = (key: number): number => (key - placeOf(key)) / PAGE_KEYS

  const lookUp = (number: number): Page => {
    const page = pages.get(number)
    if (page === undefined) return nowhere
    near[number & (NEAR_PAGES - 1)] = page
    return page
  }
  /** The page of a key; `nowhere` if there is none. */
  const pageOf = (key: number): Page => {
    const number = numberOf(key)
    const page = near[number & (NEAR_PAGES - 1)]!
    return page.number === number ? page : lookUp(number)
  }

  /** How many filled pages lie below a number. */
  const rank = (number: number): number => {
    let low = 0
    let high = filled.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (filled[middle]!.number < number) low = middle + 1
      else high = middle
    }
    return low
  }

  const addPage = (number: number): Page => {
    const page = makePage(number)
    pages.set(number, page)
    near[number & (NEAR_PAGES - 1)] = page
    return page
  }

  const fill = (page: Page): void => {
    const at = rank(page.number)
    if (at === filled.length) filled.push(page)
    else filled.splice(at, 0, page)
  }

  const empty = (page: Page): void => {
    const at = rank(page.number)
    if (at === filled.length - 1) filled.pop()
    else filled.splice(at, 1)
    if (pages.size - filled.length <= EMPTY_PAGES_MAX) return
    pages.delete(page.number)
    if (near[page.number & (NEAR_PAGES - 1)] === page) near[page.number & (NEAR_PAGES - 1)] = nowhere
  }

  return {
    get: (key) => pageOf(key).values[placeOf(key)]!,
    set: (key, value) => {
      let page = pageOf(key)
      if (page === nowhere) page = addPage(numberOf(key))
      const place = placeOf(key)
      const word = place >>> 5
      if (page.summary === 0) fill(page)
      page.values[place] = value
      page.words[word]! |= 1 << (place & 31)
      page.summary |= 1 << word
    },
    remove: (key) => {
      const page = pageOf(key)
      const place = placeOf(key)
      const word = place >>> 5
      page.values[place] = NONE
      page.words[word]! &= ~(1 << (place & 31))
      if (page.words[word] !== 0) return
      page.summary &= ~(1 << word)
      if (page.summary === 0) empty(page)
    },
    highest: () => (filled.length === 0 ? NONE : top(filled[filled.length - 1]!)),
    below: (key) => {
      const number = numberOf(key)
      let at = filled.length - 1
      if (at < 0) return NONE
      if (filled[at]!.number !== number) at = rank(number)
      if (at < filled.length && filled[at]!.number === number) {
        const value = topBelow(filled[at]!, placeOf(key))
        if (value !== NONE) return value
      }
      return at === 0 ? NONE : top(filled[at - 1]!)
    }
  }
}
