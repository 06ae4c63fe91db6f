/** A strict parser of structured fields (RFC 9651, the types of RFC 8941), for tests only: what a client may find in our headers. */

export interface Token {
  readonly __type: "token"
  readonly value: string
}
export interface Binary {
  readonly __type: "binary"
  readonly value: Uint8Array
}
export type Bare = number | string | boolean | Token | Binary
export type Parameters = ReadonlyArray<readonly [string, Bare]>
export type Item = readonly [Bare, Parameters]
export type Member = readonly [Bare | ReadonlyArray<Item>, Parameters]

class Reader {
  at = 0
  readonly text: string
  constructor(text: string) {
    this.text = text
  }
  get next(): string {
    return this.text[this.at] ?? ""
  }
  get done(): boolean {
    return this.at >= this.text.length
  }
  take(pattern: RegExp): string | undefined {
    pattern.lastIndex = this.at
    const found = pattern.exec(this.text)?.[0]
    if (found !== undefined) this.at += found.length
    return found
  }
  need(pattern: RegExp): string {
    const found = this.take(pattern)
    if (found === undefined) throw new Error(`${String(pattern)} expected at ${this.at} of ${this.text}`)
    return found
  }
}

const key = (r: Reader): string => r.need(/[a-z*][a-z0-9_.*-]*/y)

const bare = (r: Reader): Bare => {
  const { next } = r
  if (next === '"') {
    return r
      .need(/"(?:[\x20\x21\x23-\x5b\x5d-\x7e]|\\["\\])*"/y)
      .slice(1, -1)
      .replaceAll(/\\(.)/gu, "$1")
  }
  if (next === "?") return r.need(/\?[01]/y) === "?1"
  if (next === ":") {
    const text = r.need(/:[A-Za-z0-9+/]*={0,2}:/y).slice(1, -1)
    return { __type: "binary", value: Uint8Array.from(atob(text), (char) => char.charCodeAt(0)) }
  }
  if (/[A-Za-z*]/u.test(next)) return { __type: "token", value: r.need(/[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*/y) }
  const number = r.need(/-?\d+(?:\.\d*)?/y)
  const [whole, fraction] = number.replace("-", "").split(".") as [string, string | undefined]
  if (fraction === undefined ? whole.length > 15 : whole.length > 12 || !/^\d{1,3}$/u.test(fraction)) {
    throw new Error(`no number: ${number}`)
  }
  return Number(number)
}

const parameters = (r: Reader): Parameters => {
  const found = new Map<string, Bare>()
  while (r.take(/;/y) !== undefined) {
    r.take(/ */y)
    const name = key(r)
    const value = r.take(/=/y) === undefined ? true : bare(r)
    found.set(name, value)
  }
  return [...found]
}

const item = (r: Reader): Item => [bare(r), parameters(r)]

const member = (r: Reader): Member => {
  if (r.take(/\(/y) === undefined) return item(r)
  const items: Array<Item> = []
  for (;;) {
    r.take(/ */y)
    if (r.take(/\)/y) !== undefined) return [items, parameters(r)]
    items.push(item(r))
    if (r.next !== " " && r.next !== ")") throw new Error(`space or ) expected at ${r.at}`)
  }
}

/** Goes on after a comma, if one follows, and refuses one that nothing follows. */
const comma = (r: Reader): boolean => {
  r.take(/[ \t]*/y)
  if (r.done) return false
  r.need(/,/y)
  r.take(/[ \t]*/y)
  if (r.done) throw new Error("nothing follows the comma")
  return true
}

const whole = <A>(lines: string | ReadonlyArray<string>, read: (r: Reader) => A): A => {
  const r = new Reader(typeof lines === "string" ? lines : lines.join(", "))
  r.take(/ */y)
  const value = read(r)
  r.take(/ */y)
  if (!r.done) throw new Error(`${r.text.slice(r.at)} is left over`)
  return value
}

export const parseItem = (lines: string | ReadonlyArray<string>): Item => whole(lines, item)

export const parseList = (lines: string | ReadonlyArray<string>): ReadonlyArray<Member> =>
  whole(lines, (r) => {
    const members: Array<Member> = []
    if (r.done) return members
    do members.push(member(r))
    while (comma(r))
    return members
  })

export const parseDictionary = (lines: string | ReadonlyArray<string>): ReadonlyArray<readonly [string, Member]> =>
  whole(lines, (r) => {
    const members = new Map<string, Member>()
    if (r.done) return []
    do {
      const name = key(r)
      members.set(name, r.take(/=/y) === undefined ? [true, parameters(r)] : member(r))
    } while (comma(r))
    return [...members]
  })
