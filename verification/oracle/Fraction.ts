/** Exact fractions of BigInt: the only arithmetic of the model. A value is rounded where the contract says so, and nowhere else. */

const MONEY = 10n ** 18n

const floorDiv = (n: bigint, d: bigint): bigint => (n >= 0n || n % d === 0n ? n / d : n / d - 1n)

export class Fraction {
  readonly n: bigint
  /** above 0 */
  readonly d: bigint
  private text: string | undefined

  constructor(n: bigint, d: bigint = 1n) {
    this.n = d < 0n ? -n : n
    this.d = d < 0n ? -d : d
  }

  plus(b: Fraction): Fraction {
    if (this.d === b.d) return new Fraction(this.n + b.n, this.d)
    if (this.d % b.d === 0n) return new Fraction(this.n + b.n * (this.d / b.d), this.d)
    if (b.d % this.d === 0n) return new Fraction(this.n * (b.d / this.d) + b.n, b.d)
    return new Fraction(this.n * b.d + b.n * this.d, this.d * b.d)
  }

  minus(b: Fraction): Fraction {
    return this.plus(b.negated())
  }

  times(b: Fraction): Fraction {
    return new Fraction(this.n * b.n, this.d * b.d)
  }

  over(b: Fraction): Fraction {
    if (b.n === 0n) throw new RangeError("division by 0")
    return new Fraction(this.n * b.d, this.d * b.n)
  }

  negated(): Fraction {
    return new Fraction(-this.n, this.d)
  }

  abs(): Fraction {
    return this.n < 0n ? this.negated() : this
  }

  compare(b: Fraction): number {
    const gap = this.n * b.d - b.n * this.d
    return gap > 0n ? 1 : gap < 0n ? -1 : 0
  }

  less(b: Fraction): boolean {
    return this.compare(b) < 0
  }

  atMost(b: Fraction): boolean {
    return this.compare(b) <= 0
  }

  more(b: Fraction): boolean {
    return this.compare(b) > 0
  }

  equals(b: Fraction): boolean {
    return this.compare(b) === 0
  }

  get sign(): number {
    return this.n > 0n ? 1 : this.n < 0n ? -1 : 0
  }

  get isZero(): boolean {
    return this.n === 0n
  }

  /** The multiple of a step at or below. */
  floorTo(step: Fraction): Fraction {
    return step.times(new Fraction(floorDiv(this.n * step.d, this.d * step.n)))
  }

  /** The multiple of a step at or above. */
  ceilTo(step: Fraction): Fraction {
    return this.negated().floorTo(step).negated()
  }

  /** The nearest multiple of a step; a half goes up. */
  halfUpTo(step: Fraction): Fraction {
    return this.plus(step.over(TWO)).floorTo(step)
  }

  /** To 18 places, toward minus infinity. */
  floor(): Fraction {
    return MONEY % this.d === 0n ? this : new Fraction(floorDiv(this.n * MONEY, this.d), MONEY)
  }

  /** To 18 places, toward plus infinity: what an account owes. */
  ceil(): Fraction {
    return this.negated().floor().negated()
  }

  /** To 18 places, toward zero. */
  truncated(): Fraction {
    return this.n < 0n ? this.ceil() : this.floor()
  }

  isMultipleOf(step: Fraction): boolean {
    return (this.n * step.d) % (this.d * step.n) === 0n
  }

  /** A decimal without trailing zeros. Throws where the value has over 18 places. */
  toString(): string {
    return (this.text ??= this.print())
  }

  private print(): string {
    if (this.n % this.d === 0n) return (this.n / this.d).toString()
    const scaled = this.n * MONEY
    if (scaled % this.d !== 0n) throw new RangeError(`${this.n}/${this.d} has over 18 places`)
    const whole = scaled / this.d
    const digits = (whole < 0n ? -whole : whole).toString().padStart(19, "0")
    const places = digits.slice(-18).replace(/0+$/u, "")
    return `${whole < 0n ? "-" : ""}${digits.slice(0, -18)}${places === "" ? "" : `.${places}`}`
  }
}

/** Reads a decimal, or an integer. */
export const f = (value: string | number | bigint): Fraction => {
  if (typeof value !== "string") return new Fraction(BigInt(value))
  const [whole = "0", places = ""] = value.replace("-", "").split(".")
  const n = BigInt(whole + places)
  return new Fraction(value.startsWith("-") ? -n : n, 10n ** BigInt(places.length))
}

export const ZERO = f(0)
export const ONE = f(1)
const TWO = f(2)

export const min = (a: Fraction, b: Fraction): Fraction => (b.less(a) ? b : a)
export const max = (a: Fraction, b: Fraction): Fraction => (b.more(a) ? b : a)
export const sum = (values: ReadonlyArray<Fraction>): Fraction => values.reduce((a, b) => a.plus(b), ZERO)
