/** Cuts a seed with a difference to few commands: `node verification/oracle/shrink.ts seed [commands = 200]`. */
import { replay, run } from "./Oracle.ts"
import { shrink } from "./Shrinker.ts"

const [seed = 1, commands = 200] = process.argv.slice(2).map(Number)
const found = run(seed, commands)
const shrunk = found && shrink(found.script, replay)
if (shrunk === undefined) process.stdout.write(`seed ${seed}: no difference in ${commands} commands\n`)
else {
  const { options, commands } = shrunk.script
  const { markets, ...rest } = options
  const lines = [
    JSON.stringify({ ...rest, markets: markets.map(({ symbol }) => symbol) }),
    ...commands.map(({ names, request: { account, at, body } }) =>
      JSON.stringify({
        at,
        account: account.slice(0, 6),
        ...body,
        ...(names === undefined ? {} : { order: `of ${names.id}` })
      })
    ),
    shrunk.what
  ]
  process.stdout.write(`${lines.join("\n")}\n`)
}
process.exitCode = shrunk === undefined ? 0 : 1
