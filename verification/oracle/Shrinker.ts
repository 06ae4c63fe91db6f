/** Cuts a script that shows a difference to one from which nothing can be taken. */
import type { Command, Difference, Script } from "./Oracle.ts"
import type { Body, Request } from "./Requests.ts"

/** Runs a script to its first difference. */
export type Replay = (script: Script) => Difference | undefined

export interface Shrunk extends Difference {
  readonly script: Script
}

/** The script up to its first difference, if it has one. */
const upToDifference = (script: Script, replay: Replay): Shrunk | undefined => {
  const found = replay(script)
  return found && { ...found, script: { ...script, commands: script.commands.slice(0, found.place + 1) } }
}

/** Takes away runs of commands, long ones first. */
const fewer = (shrunk: Shrunk, replay: Replay): Shrunk => {
  let best = shrunk
  for (let size = best.script.commands.length >> 1; size >= 1; size >>= 1)
    for (let from = 0; from < best.script.commands.length;) {
      const { commands, options } = best.script
      const rest = { options, commands: [...commands.slice(0, from), ...commands.slice(from + size)] }
      const found = upToDifference(rest, replay)
      if (found === undefined) from += size
      else best = found
    }
  return best
}

/** A request without each of its optional fields, and with an earlier time. */
const simpler = (request: Request, before: number): ReadonlyArray<Request> => {
  const without = (key: string): Request => {
    const body = Object.fromEntries(Object.entries(request.body).filter(([name]) => name !== key))
    return { ...request, body: body as unknown as Body }
  }
  const given = Object.entries(request.body).filter(([, value]) => value !== undefined && value !== false)
  const optional = given.map(([key]) => key).filter((key) => OPTIONAL.has(key))
  return [...optional.map(without), ...(request.at > before ? [{ ...request, at: before }] : [])]
}

const OPTIONAL: ReadonlySet<string> = new Set([
  "closeOnTrigger",
  "link",
  "postOnly",
  "reduceOnly",
  "smp",
  "stopLossSize",
  "takeProfitSize",
  "tpsl",
  "trigger",
  "triggerPrice"
])

const plainer = (shrunk: Shrunk, replay: Replay): Shrunk => {
  let best = shrunk
  const tryWith = (script: Script): void => {
    best = upToDifference(script, replay) ?? best
  }
  for (let place = 0; place < best.script.commands.length; place++) {
    const { request } = best.script.commands[place]!
    for (const other of simpler(request, place === 0 ? request.at : best.script.commands[place - 1]!.request.at)) {
      const { commands, options } = best.script
      const now = commands[place]
      // an earlier change may have cut this command away, or changed another field of it
      if (now === undefined) break
      const keys = new Set(Object.keys(other.body))
      const body = Object.fromEntries(Object.entries(now.request.body).filter(([key]) => keys.has(key)))
      const changed: Command = {
        ...now,
        request: { ...now.request, at: Math.min(now.request.at, other.at), body: body as unknown as Body }
      }
      tryWith({ options, commands: commands.with(place, changed) })
    }
  }
  for (const market of best.script.options.markets) {
    const { commands, options } = best.script
    const markets = options.markets.filter((other) => other !== market)
    if (markets.length > 0) tryWith({ commands, options: { ...options, markets } })
  }
  return best
}

/**
 * The shortest script found that shows a difference of the same kind, by the first word of its text. `undefined`: the script
 * shows none.
 */
export const shrink = (script: Script, replayAll: Replay): Shrunk | undefined => {
  const kindOf = (found: Difference | undefined) => found?.what.split(" ", 1)[0]
  let best = upToDifference(script, replayAll)
  const kind = kindOf(best)
  const replay: Replay = (shorter) => {
    const found = replayAll(shorter)
    return kindOf(found) === kind ? found : undefined
  }
  for (let before = Infinity; best !== undefined && best.script.commands.length < before;) {
    before = best.script.commands.length
    best = plainer(fewer(best, replay), replay)
  }
  return best
}
