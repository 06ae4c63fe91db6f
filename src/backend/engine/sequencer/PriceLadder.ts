/**
 * A sparse ordered map from integers to small integers: from the prices of a book to its levels. Bids lie under their
 * prices, asks under the negated ones.
 *
 * Keys lie in pages of 256. A page knows by two levels of bits which of its keys are there (a word of 32 keys, a summary
 * of the words), so the next one below costs two `clz32`; the pages that hold anything are a sorted list, the highest last.
 * A price far from the others costs one page, not a range.
 */

/** No entry, and no value. */
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

// right for all safe integers, negative ones too: & takes the low bits of the two's complement
const placeOf = (key: number): number => key & (PAGE_KEYS - 1)
const numberOf = (key: number): number => (key - placeOf(key)) / PAGE_KEYS

export interface PriceLadder {
  /** The value of a key; {@link NONE} where there is none. */
  readonly get: (key: number) => number
  readonly set: (key: number, value: number) => void
  /** Takes a key out that is there. */
  readonly remove: (key: number) => void
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

/** A class, so that its methods exist once and the compiler knows the constants that they use. */
class PagedLadder implements PriceLadder {
  private readonly pages = new Map<number, Page>()
  /** pages that hold something, the lowest first */
  private readonly filled: Array<Page> = []
  /** those of the pages that were asked for lately */
  private readonly near: Array<Page> = Array.from({ length: NEAR_PAGES }, () => nowhere)

  get(key: number): number {
    return this.pageOf(key).values[placeOf(key)]!
  }
  set(key: number, value: number): void {
    let page = this.pageOf(key)
    if (page === nowhere) page = this.addPage(numberOf(key))
    const place = placeOf(key)
    const word = place >>> 5
    if (page.summary === 0) this.fill(page)
    page.values[place] = value
    page.words[word]! |= 1 << (place & 31)
    page.summary |= 1 << word
  }
  remove(key: number): void {
    const page = this.pageOf(key)
    const place = placeOf(key)
    const word = place >>> 5
    page.values[place] = NONE
    page.words[word]! &= ~(1 << (place & 31))
    if (page.words[word] !== 0) return
    page.summary &= ~(1 << word)
    if (page.summary === 0) this.empty(page)
  }
  below(key: number): number {
    const page = this.pageOf(key)
    const value = page.summary === 0 ? NONE : topBelow(page, placeOf(key))
    if (value !== NONE) return value
    const at = this.rank(numberOf(key))
    return at === 0 ? NONE : top(this.filled[at - 1]!)
  }

  /** The page of a key; `nowhere` if there is none. */
  private pageOf(key: number): Page {
    const number = numberOf(key)
    const page = this.near[number & (NEAR_PAGES - 1)]!
    return page.number === number ? page : this.lookUp(number)
  }
  private lookUp(number: number): Page {
    const page = this.pages.get(number)
    if (page === undefined) return nowhere
    this.near[number & (NEAR_PAGES - 1)] = page
    return page
  }
  private addPage(number: number): Page {
    const page = makePage(number)
    this.pages.set(number, page)
    this.near[number & (NEAR_PAGES - 1)] = page
    return page
  }

  /** How many filled pages lie below a number. */
  private rank(number: number): number {
    const { filled } = this
    let low = 0
    let high = filled.length
    while (low < high) {
      const middle = (low + high) >>> 1
      if (filled[middle]!.number < number) low = middle + 1
      else high = middle
    }
    return low
  }
  // moved by hand: a splice would make an array for what it takes out
  private fill(page: Page): void {
    const { filled } = this
    const at = this.rank(page.number)
    for (let i = filled.push(page) - 1; i > at; i--) filled[i] = filled[i - 1]!
    filled[at] = page
  }
  private empty(page: Page): void {
    const { filled } = this
    for (let i = this.rank(page.number) + 1; i < filled.length; i++) filled[i - 1] = filled[i]!
    filled.pop()
    if (this.pages.size - this.filled.length <= EMPTY_PAGES_MAX) return
    this.pages.delete(page.number)
    if (this.near[page.number & (NEAR_PAGES - 1)] === page) this.near[page.number & (NEAR_PAGES - 1)] = nowhere
  }
}

export const make = (): PriceLadder => new PagedLadder()
