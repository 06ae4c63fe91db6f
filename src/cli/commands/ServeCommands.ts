/** `serve` and `backend`: the programs themselves. What they are made of is loaded only when one of them runs. */
import { ConfigProvider, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Verified } from "../../backend/Program.ts"
import { settings as backendSettings } from "../../backend/Settings.ts"
import * as Progress from "../Progress.ts"
import { facts, show, time } from "../Show.ts"

const port = Flag.Int("port").pipe(Flag.withDescription("PORT: 3010 by default, 0 takes a free one"), Flag.optional)
const host = Flag.String("host").pipe(Flag.withDescription("HOST: 127.0.0.1 by default"), Flag.optional)
const dataDir = Flag.String("data-dir").pipe(Flag.withDescription("DATA_DIR: ./data by default"), Flag.optional)

/** Puts what flags name before what the environment says. */
const withFlags = (given: Readonly<Record<string, Option.Option<string | number>>>) => {
  const named = Object.entries(given).flatMap(([name, value]) =>
    Option.isSome(value) ? [[name, String(value.value)] as const] : []
  )
  return Effect.provide(
    ConfigProvider.layerAdd(ConfigProvider.fromEnv({ env: Object.fromEntries(named) }), { asPrimary: true })
  )
}

/** Serves the whole exchange. */
export const serving = (flags: {
  readonly port: Option.Option<number>
  readonly host: Option.Option<string>
  readonly dataDir: Option.Option<string>
}) =>
  Effect.gen(function* () {
    const { endAtSecondSignal, serve } = yield* Effect.promise(() => import("../../Serve.ts"))
    endAtSecondSignal()
    yield* serve
  }).pipe(withFlags({ PORT: flags.port, HOST: flags.host, DATA_DIR: flags.dataDir }))

export const serve = Command.make("serve", { port, host, dataDir }, serving).pipe(
  Command.withDescription(
    "Serve the whole exchange, or the gateway in front of another backend; settings are environment variables (gateway config print)"
  ),
  Command.withShortDescription("Serve the whole exchange")
)

const program = Effect.promise(() => import("../../backend/Program.ts"))

const verified = (what: string) =>
  Effect.fnUntraced(function* (found: Verified) {
    yield* show(found, (value, paint) =>
      [
        paint.green(what),
        facts(
          [
            ["epoch", value.epoch],
            ["rules", value.rules],
            ["entries", `${value.entries}, the last at ${time(value.at_ms)}`],
            ["checkpoints", String(value.checkpoints)],
            ["snapshots", value.snapshots.join(", ") || "none"],
            ["events", String(value.head_seq)],
            ["state hash", value.state_hash]
          ],
          paint
        )
      ].join("\n")
    )
  })

const verify = Command.make("verify", { dataDir }, (flags) =>
  Effect.gen(function* () {
    const { verify } = yield* program
    const values = yield* backendSettings
    const found = yield* Progress.counted("replaying the journal", (progress) => verify(values, progress))
    yield* verified("the journal is sound")(found)
  }).pipe(withFlags({ DATA_DIR: flags.dataDir }))
).pipe(
  Command.withDescription("Replay the journal read-only, beside a running backend or not, and compare all there is")
)

const replay = Command.make("replay", { dataDir }, (flags) =>
  Effect.gen(function* () {
    const { rebuild } = yield* program
    const values = yield* backendSettings
    const found = yield* Progress.counted("replaying the journal", (progress) => rebuild(values, progress))
    yield* verified("the snapshots are made anew")(found)
  }).pipe(withFlags({ DATA_DIR: flags.dataDir }))
).pipe(Command.withDescription("Replay the journal of a stopped backend and replace its snapshots by a new one"))

const backup = Command.make(
  "backup",
  { directory: Argument.String("directory").pipe(Argument.withDescription("One that does not exist yet")), dataDir },
  (flags) =>
    Effect.gen(function* () {
      const { backup } = yield* program
      const values = yield* backendSettings
      const made = yield* Progress.timed("copying", backup(values, flags.directory))
      yield* show(made, ({ directory, files }) =>
        [`copied to ${directory}:`, ...files.map((name) => `  ${name}`)].join("\n")
      )
    }).pipe(withFlags({ DATA_DIR: flags.dataDir }))
).pipe(Command.withDescription("Copy a DATA_DIR in use, the gateway's databases included"))

export const backend = Command.make(
  "backend",
  { port: Flag.Int("port").pipe(Flag.withDescription("BACKEND_PORT: 3011 by default"), Flag.optional), host, dataDir },
  (flags) =>
    Effect.gen(function* () {
      const { serve, withLogging } = yield* program
      const values = yield* backendSettings
      yield* withLogging(values)(serve(values))
    }).pipe(withFlags({ BACKEND_PORT: flags.port, HOST: flags.host, DATA_DIR: flags.dataDir }))
).pipe(
  Command.withDescription("Serve the backend alone, or work on its journal"),
  Command.withSubcommands([verify, replay, backup])
)
