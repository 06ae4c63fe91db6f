/**
 * `npm run conformance -- --sequencer host:port --referee host:port`: checks a backend against the contract.
 *
 * Exits with 0 if every case passed, 1 if one failed, 2 if none could run. The credentials are those of the gateway:
 * BACKEND_SECRET, BACKEND_TLS_CA, BACKEND_TLS_CERT, BACKEND_TLS_KEY.
 */
import { readFileSync } from "node:fs"
import { parseArgs } from "node:util"
import { Effect, Result } from "effect"
import type { Endpoint } from "./Link.ts"
import * as Report from "./Report.ts"
import { cases, run } from "./Suite.ts"

const USAGE = `usage: npm run conformance -- --sequencer host:port [--referee host:port]
  --core            only what no gateway can do without
  --only NAME,NAME  only these cases
  --symbol SYMBOL   the market to trade in, which nobody else may use; default: the first one
  --patience MS     longest wait for one answer or event; default 10000
  --commands N      commands in flight at once in the case in-flight; default 500
  --json            one JSON document instead of lines
  --list            names the cases and runs none`

const fail = (message: string): never => {
  console.error(`conformance: ${message}`)
  process.exit(2)
}

const read = () => {
  try {
    return parseArgs({
      options: {
        sequencer: { type: "string" },
        referee: { type: "string" },
        core: { type: "boolean", default: false },
        only: { type: "string" },
        symbol: { type: "string" },
        patience: { type: "string", default: "10000" },
        commands: { type: "string", default: "500" },
        json: { type: "boolean", default: false },
        list: { type: "boolean", default: false }
      }
    }).values
  } catch (error) {
    return fail(`${(error as Error).message}\n${USAGE}`)
  }
}

const whole = (name: string, text: string): number =>
  /^[1-9][0-9]{0,6}$/u.test(text) ? Number(text) : fail(`--${name} is a whole number above 0`)

const endpoint = (address: string): Endpoint => {
  const pem = (name: string) => {
    const path = process.env[name]
    try {
      return path === undefined ? undefined : readFileSync(path)
    } catch {
      return fail(`${name}: cannot read ${path}`)
    }
  }
  const ca = pem("BACKEND_TLS_CA")
  return {
    address,
    secret: process.env["BACKEND_SECRET"],
    tls: ca === undefined ? undefined : { ca, cert: pem("BACKEND_TLS_CERT"), key: pem("BACKEND_TLS_KEY") }
  }
}

const values = read()
const names = values.only?.split(",")
const unknown = names?.find((name) => !cases.some((entry) => entry.name === name))
if (unknown !== undefined) fail(`there is no case ${unknown}; --list prints all`)
const chosen = cases.filter(
  ({ level, name }) => (!values.core || level === "core") && (names === undefined || names.includes(name))
)

if (values.list) {
  for (const entry of chosen) console.log(Report.entry(entry))
  process.exit(0)
}
const { sequencer } = values
if (sequencer === undefined) fail(USAGE)
else {
  const options = {
    sequencer: endpoint(sequencer),
    referee: endpoint(values.referee ?? sequencer),
    symbol: values.symbol,
    patience_ms: whole("patience", values.patience),
    commands: whole("commands", values.commands)
  }
  const ran = await Effect.runPromise(
    Effect.result(run(options, chosen, (outcome) => values.json || console.log(Report.line(outcome))))
  )
  if (Result.isFailure(ran)) fail(ran.failure.message)
  else {
    console.log(values.json ? Report.json(ran.success) : Report.summary(ran.success))
    process.exit(ran.success.some(({ failure }) => failure !== undefined) ? 1 : 0)
  }
}
