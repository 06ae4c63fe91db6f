/** Runs one seed: the same requests through the engine and the model, compared after each. */
import { EngineSide, type EngineOutcome } from "./EngineSide.ts"
import { Exchange, type Options, type Outcome } from "./Exchange.ts"
import { factsOf } from "./Facts.ts"
import type { Request } from "./Requests.ts"
import { KNOWN } from "./Known.ts"
import { Session } from "./Session.ts"

/** The first difference between engine and model. */
export interface Difference {
  readonly command: number
  readonly request: Request
  readonly what: string
}

export interface Counts {
  commands: number
  fills: number
  liquidations: number
  deleveraged: number
  triggered: number
  funding: number
}

const differing = (what: string, engine: string | undefined, model: string | undefined): string | undefined =>
  engine === model ? undefined : `${what}\n  engine: ${engine ?? "nothing"}\n  model:  ${model ?? "nothing"}`

/** Exits of several positions that end together have no order among them: neighbours of that kind are sorted. */
const settled = (lines: ReadonlyArray<string>): ReadonlyArray<string> => {
  const isEnd = (line: string | undefined) =>
    line?.includes(" Deactivated ") === true && line.includes("CancelByTpSlTsClear")
  const sorted: Array<string> = []
  for (let i = 0; i < lines.length; i++) {
    const run: Array<string> = []
    while (isEnd(lines[i])) run.push(lines[i++]!)
    sorted.push(...run.sort())
    if (i < lines.length) sorted.push(lines[i]!)
  }
  return sorted
}

const compareLines = (engine: ReadonlyArray<string>, model: ReadonlyArray<string>): string | undefined => {
  for (let i = 0; i < Math.max(engine.length, model.length); i++) {
    if (engine[i] === model[i]) continue
    const before = engine.slice(0, i).map((line) => `  both:   ${line}\n`)
    return before.join("") + differing(`event ${i + 1}`, engine[i], model[i])!
  }
  return undefined
}

const blurred = (fact: string | undefined): string | undefined =>
  fact === undefined ? undefined : KNOWN.reduce((text, { blurs }) => blurs?.(text) ?? text, fact)

const compareFacts = (engine: ReadonlyMap<string, string>, model: ReadonlyMap<string, string>): string | undefined => {
  for (const key of new Set([...engine.keys(), ...model.keys()])) {
    const found = differing(key, blurred(engine.get(key)), blurred(model.get(key)))
    if (found !== undefined) return found
  }
  return undefined
}

const compareOutcomes = (engine: EngineOutcome, model: Outcome): string | undefined => {
  const of = ({ amendRefused, orders = [], refused, version }: Outcome) =>
    refused === undefined
      ? `acknowledged, orders ${orders.join()} version ${version ?? "-"} amend ${amendRefused ?? "accepted"}`
      : `refused ${refused}`
  return differing("acknowledgement", of(engine), of(model))
}

/** Engine and model side by side. */
export class Pair {
  readonly engine: EngineSide
  readonly model: Exchange

  constructor(options: Options) {
    this.engine = new EngineSide(options)
    this.model = new Exchange(options)
  }

  /** Applies a request to both; answers what differs. */
  apply(request: Request): string | undefined {
    const model = this.model.apply(request)
    let engine: EngineOutcome
    try {
      engine = this.engine.apply(request)
    } catch (error) {
      return `the engine threw ${(error as Error).message}`
    }
    return (
      compareOutcomes(engine, model) ??
      compareLines(settled(engine.lines), settled(this.model.lines)) ??
      compareFacts(this.engine.facts(), factsOf(this.model))
    )
  }
}

const count = (counts: Counts, lines: ReadonlyArray<string>): void => {
  for (const line of lines) {
    if (line.startsWith("exec") && line.includes(" taker ")) counts.fills++
    if (line.startsWith("liquidation")) counts.liquidations++
    if (line.includes(" AdlTrade ")) counts.deleveraged++
    if (line.includes(" Triggered Triggered ")) counts.triggered++
    if (line.startsWith("paid")) counts.funding++
  }
}

export const noCounts = (): Counts => ({
  commands: 0,
  fills: 0,
  liquidations: 0,
  deleveraged: 0,
  triggered: 0,
  funding: 0
})

/** Runs a seed to its end or to the first difference; counts what happened. Commands that only prepare come before the first. */
export const run = (seed: number, commands: number, counts: Counts = noCounts()): Difference | undefined => {
  const session = new Session(seed)
  const pair = new Pair(session.options)
  for (let command = 1 - session.openings; command <= commands; command++) {
    const request = session.one(pair.model)
    if (KNOWN.some(({ avoids }) => avoids?.(request) === true)) continue
    const what = pair.apply(request)
    counts.commands++
    count(counts, pair.model.lines)
    if (what !== undefined) return { command, request, what }
  }
  return undefined
}

export const explain = (seed: number, { command, request, what }: Difference): string =>
  `seed ${seed}, command ${command}: ${JSON.stringify(request)}\n${what}\nagain: node verification/oracle/main.ts 1 ${Math.max(1, command)} ${seed}`
