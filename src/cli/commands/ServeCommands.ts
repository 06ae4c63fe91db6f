/** `serve` and `backend`: the server programs. Their modules are loaded only when one of them runs. */
import { basename } from "node:path"
import { ConfigProvider, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Restored, Verified } from "../../backend/Program.ts"
import { settings as backendSettings } from "../../backend/Settings.ts"
import * as Progress from "../Progress.ts"
import { facts, show, time } from "../Show.ts"

const port = Flag.Int("port").pipe(
  Flag.withDescription("Overrides PORT; default 3010, 0 takes a free port"),
  Flag.optional
)
const host = Flag.String("host").pipe(Flag.withDescription("Overrides HOST; default 127.0.0.1"), Flag.optional)
const dataDir = Flag.String("data-dir").pipe(Flag.withDescription("Overrides DATA_DIR; default ./data"), Flag.optional)

/** Values of flags override the environment. */
const withFlags = (given: Readonly<Record<string, Option.Option<string | number>>>) => {
  const named = Object.entries(given).flatMap(([name, value]) =>
    Option.isSome(value) ? [[name, String(value.value)] as const] : []
  )
  return Effect.provide(
    ConfigProvider.layerAdd(ConfigProvider.fromEnv({ env: Object.fromEntries(named) }), { asPrimary: true })
  )
}

/** Runs the gateway, with the embedded backend by default. */
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
    "Serve the exchange, or a gateway in front of another backend; settings are environment variables (gateway config print)"
  ),
  Command.withShortDescription("Serve the exchange")
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
            ["entries", `${value.entries}, last at ${time(value.at_ms)}`],
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
    yield* verified("the journal is valid")(found)
  }).pipe(withFlags({ DATA_DIR: flags.dataDir }))
).pipe(
  Command.withDescription(
    "Replay the journal read-only and compare it with checkpoints and snapshots; the backend may run"
  )
)

const replay = Command.make("replay", { dataDir }, (flags) =>
  Effect.gen(function* () {
    const { rebuild } = yield* program
    const values = yield* backendSettings
    const found = yield* Progress.counted("replaying the journal", (progress) => rebuild(values, progress))
    yield* verified("the snapshots are rebuilt")(found)
  }).pipe(withFlags({ DATA_DIR: flags.dataDir }))
).pipe(Command.withDescription("Replay the journal of a stopped backend and replace its snapshots with a new one"))

const backup = Command.make(
  "backup",
  {
    directory: Argument.String("directory").pipe(Argument.withDescription("A directory that does not exist yet")),
    dataDir
  },
  (flags) =>
    Effect.gen(function* () {
      const { backup } = yield* program
      const values = yield* backendSettings
      const made = yield* Progress.timed("copying", backup(values, flags.directory))
      yield* show(made, ({ directory, files }) =>
        [`copied to ${directory}:`, ...files.map((name) => `  ${name}`)].join("\n")
      )
    }).pipe(withFlags({ DATA_DIR: flags.dataDir }))
).pipe(Command.withDescription("Copy a DATA_DIR in use, including the gateway's databases"))

const lostOf = ({ lost }: Restored): string => {
  if (lost === null) return "not known"
  if (lost.entries === 0) return "nothing"
  const { commands, entries, from_ms, until_ms } = lost
  const times = from_ms === null || until_ms === null ? "" : `, from ${time(from_ms)} until ${time(until_ms)}`
  return `entries: ${entries}, commands: ${commands}${times}`
}

const restore = Command.make(
  "restore",
  {
    directory: Argument.String("directory").pipe(
      Argument.withDescription(
        "A backup, or another DATA_DIR; none with JOURNAL_URL, whose database was restored before"
      ),
      Argument.optional
    ),
    dataDir
  },
  (flags) =>
    Effect.gen(function* () {
      const { restore } = yield* program
      const values = yield* backendSettings
      const made = yield* Progress.timed("restoring", restore(values, Option.getOrUndefined(flags.directory)))
      yield* show(made, (value, paint) =>
        [
          paint.green("the backup is restored"),
          facts(
            [
              ["epoch", value.epoch],
              ["fork", value.fork],
              ["entries", `${value.entries}, last at ${time(value.at_ms)}`],
              ["lost", lostOf(value)],
              ["former content", value.replaced === null ? "none" : basename(value.replaced)]
            ],
            paint
          )
        ].join("\n")
      )
    }).pipe(withFlags({ DATA_DIR: flags.dataDir }))
).pipe(Command.withDescription("Replace the DATA_DIR of stopped programs by a backup, and print what is lost"))

export const backend = Command.make(
  "backend",
  {
    port: Flag.Int("port").pipe(Flag.withDescription("Overrides BACKEND_PORT; default 3011"), Flag.optional),
    host,
    dataDir
  },
  (flags) =>
    Effect.gen(function* () {
      const { serve, withLogging } = yield* program
      const values = yield* backendSettings
      yield* withLogging(values)(serve(values))
    }).pipe(withFlags({ BACKEND_PORT: flags.port, HOST: flags.host, DATA_DIR: flags.dataDir }))
).pipe(
  Command.withDescription("Serve only the backend, or work on its journal"),
  Command.withSubcommands([verify, replay, backup, restore])
)
