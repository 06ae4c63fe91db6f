/** Runs one seed: the same requests through the engine and the model, compared after each. */
import { EngineSide, type EngineOutcome } from "./EngineSide.ts"
import { Exchange, type Options, type Outcome } from "./Exchange.ts"
import { factsOf } from "./Facts.ts"
import type { Body, Request } from "./Requests.ts"
import { KNOWN } from "./Known.ts"
import { Coverage } from "./Rules.ts"
import { Session } from "./Session.ts"

/** A request of a script. An order that it names is named by the command that made it, so that the script can be cut. */
export interface Command {
  readonly id: number
  readonly request: Request
  /** the nth order of that command */
  readonly names?: { readonly id: number; readonly nth: number } | undefined
}

export interface Script {
  readonly options: Options
  readonly commands: ReadonlyArray<Command>
}

/** The first difference between engine and model, after the command at this place of the script. */
export interface Difference {
  readonly place: number
  readonly what: string
}

export interface Counts {
  commands: number
  fills: number
  liquidations: number
  deleveraged: number
  triggered: number
  funding: number
  readonly coverage: Coverage
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

/** Of so many commands, one compares the whole state though it has to do with a part of it only. */
const WHOLE_EVERY = 8

/** Engine and model side by side. */
export class Pair {
  readonly engine: EngineSide
  readonly model: Exchange
  /** what the model made of the last request */
  outcome: Outcome = {}
  private commands = 0

  constructor(options: Options) {
    this.engine = new EngineSide(options)
    this.model = new Exchange(options)
  }

  /**
   * Applies a request to both; answers what differs. Unless `thorough`, a command that moves no price is compared by what it
   * has to do with (a refused one by its answer), and one of eight by the whole state.
   */
  apply(request: Request, thorough: boolean): string | undefined {
    const { model } = this
    const outcome = model.apply(request)
    this.outcome = outcome
    let engine: EngineOutcome
    try {
      engine = this.engine.apply(request)
    } catch (error) {
      return `the engine threw ${(error as Error).message}`
    }
    const isRefused = outcome.refused !== undefined && model.lines.length === 0
    const all = thorough || model.moved || ++this.commands % WHOLE_EVERY === 0
    if (isRefused && !all) return compareOutcomes(engine, outcome) ?? compareLines(engine.lines, [])
    const names = new Set(model.concerned.map((one) => ("address" in one ? one.address : one.symbol)))
    return (
      compareOutcomes(engine, outcome) ??
      compareLines(settled(engine.lines), settled(model.lines)) ??
      compareFacts(
        this.engine.facts((name) => all || names.has(name)),
        factsOf(model, all)
      )
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
  funding: 0,
  coverage: new Coverage()
})

export const isAvoided = (request: Request): boolean => KNOWN.some(({ avoids }) => avoids?.(request) === true)

/** The script of a seed, as far as engine and model agree by `apply`; commands that only prepare come first. */
export const generate = (
  seed: number,
  commands: number,
  apply: (pair: Pair, request: Request, isLast: boolean) => boolean
): { readonly script: Script; readonly openings: number } => {
  const session = new Session(seed)
  const pair = new Pair(session.options)
  const made: Array<Command> = []
  /** the command that made an order, by its number − 1 */
  const makers: Array<{ readonly id: number; readonly nth: number }> = []
  const end = session.openings + commands
  for (let id = 0; id < end; id++) {
    const request = session.one(pair.model)
    if (isAvoided(request)) continue
    const number = "order" in request.body ? request.body.order : undefined
    made.push({ id, request, names: number === undefined ? undefined : makers[number - 1] })
    const goesOn = apply(pair, request, id === end - 1)
    for (let nth = 1; makers.length < pair.model.counted; nth++) makers.push({ id, nth })
    if (!goesOn) break
  }
  return { script: { options: session.options, commands: made }, openings: session.openings }
}

/** Runs a script to its end or to the first difference; every command is compared by the whole state. */
export const replay = ({ commands, options }: Script): Difference | undefined => {
  const pair = new Pair(options)
  const before = new Map<number, number>()
  for (const [place, { id, names, request }] of commands.entries()) {
    before.set(id, pair.model.counted)
    const first = names === undefined ? undefined : before.get(names.id)
    const order = first === undefined ? 99_999 : first + names!.nth
    const what = pair.apply(
      names === undefined ? request : { ...request, body: { ...request.body, order } as Body },
      true
    )
    if (what !== undefined) return { place, what }
  }
  return undefined
}

/** What a seed found: the difference, and the script that led to it. */
export interface Finding extends Difference {
  readonly seed: number
  readonly openings: number
  readonly script: Script
}

/** Runs a seed to its end or to the first difference; counts what happened. */
export const run = (seed: number, commands: number, counts: Counts = noCounts()): Finding | undefined => {
  let found: string | undefined
  const { openings, script } = generate(seed, commands, (pair, request, isLast) => {
    found = pair.apply(request, isLast)
    counts.commands++
    count(counts, pair.model.lines)
    counts.coverage.note({ request, outcome: pair.outcome, exchange: pair.model })
    return found === undefined
  })
  if (found === undefined) return undefined
  // compared by the whole state, the difference may show earlier
  const first = replay(script) ?? { place: script.commands.length - 1, what: found }
  return { ...first, seed, openings, script }
}

export const explain = ({ openings, place, script, seed, what }: Finding): string => {
  const command = place + 1 - openings
  return (
    `seed ${seed}, command ${command}: ${JSON.stringify(script.commands[place]!.request)}\n${what}\n` +
    `again: node verification/oracle/main.ts 1 ${Math.max(1, command)} ${seed}; ` +
    `shorter: node verification/oracle/shrink.ts ${seed} ${Math.max(1, command)}`
  )
}
