/**
 * A sparse ordered map from integers to small integers: from the prices of a book to its levels. Bids use their price
 * as key, asks the negated price.
 *
 * Keys are grouped in pages of 256. Two levels of bits (a word per 32 keys, and a summary of the words) record which
 * keys of a page exist, so that the next lower key costs two `clz32`. Pages with entries are in a sorted list, highest
 * last. A price far from the others costs one page, not a range.
 */

/** Marks a missing entry. */
export const NONE = -1

const WORD_KEYS = 32
const PAGE_WORDS = 8
const PAGE_KEYS = WORD_KEYS * PAGE_WORDS
/** Maximum number of empty pages that are kept for reuse. */
const EMPTY_PAGES_MAX = 64
/** Size of the direct-mapped page cache, indexed by the low bits of the page number. */
const NEAR_PAGES = 64

interface Page {
  /** first key is number × PAGE_KEYS */
  readonly number: number
  /** values by the low bits of the key; NONE where the key is missing */
  readonly values: Int32Array
  readonly words: Int32Array
  /** bit i is set where word i is not 0 */
  summary: number
}

const makePage = (number: number): Page => ({
  number,
  values: new Int32Array(PAGE_KEYS).fill(NONE),
  words: new Int32Array(PAGE_WORDS),
  summary: 0
})
/** A page without a number that stays empty. */
const nowhere = makePage(Number.NaN)

// correct for all safe integers, negative ones too: & takes the low bits of the two's complement
const placeOf = (key: number): number => key & (PAGE_KEYS - 1)
const numberOf = (key: number): number => (key - placeOf(key)) / PAGE_KEYS

export interface PriceLadder {
  /** The value of a key; {@link NONE} where there is none. */
  readonly get: (key: number) => number
  readonly set: (key: number, value: number) => void
  /** Removes an existing key. */
  readonly remove: (key: number) => void
  /** The value of the next key below `key`, which need not exist. */
  readonly below: (key: number) => number
}

const highestBit = (bits: number): number => 31 - Math.clz32(bits)
/** The bits below bit `bit`. */
const lower = (bits: number, bit: number): number => bits & ((1 << bit) - 1)

/** The value of the highest key of a page that is not empty. */
const top = ({ summary, values, words }: Page): number => {
  const word = highestBit(summary)
  return values[word * WORD_KEYS + highestBit(words[word]!)]!
}

/** The value of the highest key of a page below a place in it. */
const topBelow = ({ summary, values, words }: Page, place: number): number => {
  const word = place >>> 5
  const beside = lower(words[word]!, place & 31)
  if (beside !== 0) return values[word * WORD_KEYS + highestBit(beside)]!
  const others = lower(summary, word)
  if (others === 0) return NONE
  const other = highestBit(others)
  return values[other * WORD_KEYS + highestBit(words[other]!)]!
}

/** A class, so that its methods are shared and the compiler inlines constants. */
class PagedLadder implements PriceLadder {
  private readonly pages = new Map<number, Page>()
  /** pages with entries, lowest first */
  private readonly filled: Array<Page> = []
  /** cache of recently used pages */
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

  /** The page of a key; `nowhere` if it does not exist. */
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

  /** Number of filled pages below a page number. */
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
  // shift in a loop: `splice` would allocate an array for the removed elements
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
