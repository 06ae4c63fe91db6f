/** `config`: prints all settings without secrets, and checks whether the server would start with them. */
import { Config, Effect, Option, Redacted, Result } from "effect"
import { Command } from "effect/cli"
import * as Backend from "../../backend/Settings.ts"
import { misspelt, type Setting } from "../../domain/Setting.ts"
import { consistent, settings, table } from "../../layers/Settings.ts"
import { OutputFinished } from "../ErrorOutput.ts"
import { show, table as rows } from "../Show.ts"

interface Value {
  readonly name: string
  /** Absent: unset. */
  readonly value?: string | number | boolean
  /** A secret's value is never shown. */
  readonly secret: boolean
  /** Set in the environment; else the value is the default. */
  readonly given: boolean
  readonly about: string
}

const valueOf = (name: string, value: unknown, about: string): Value => ({
  name,
  ...(value === undefined ? {} : Redacted.isRedacted(value) ? { value: "<secret>" } : { value: value as string }),
  secret: Redacted.isRedacted(value),
  given: process.env[name] !== undefined,
  about
})

/** Reads one setting, so that an invalid one does not hide the next. */
const read = ({ about, config, name }: Setting<unknown>) =>
  Effect.result(Effect.map(config, (value) => valueOf(name, value, about)))

const gatewaySettings: ReadonlyArray<Setting<unknown>> = Object.values(table)
const names = new Set(gatewaySettings.map(({ name }) => name))
/** Settings that only the backend has. */
const backendOnly = Backend.rows.filter(({ name }) => !names.has(name))
const every = [...gatewaySettings, ...backendOnly]

const print = Command.make("print", {}, () =>
  Effect.gen(function* () {
    const values = yield* Effect.forEach(every, ({ about, config, name }) =>
      Effect.map(config, (value) => valueOf(name, value, about))
    )
    yield* show(values, (all, paint) =>
      rows(
        all,
        [
          { title: "VARIABLE", of: ({ name }) => name },
          {
            title: "VALUE",
            of: ({ value }) =>
              value === undefined ? "unset" : typeof value === "boolean" ? (value ? "on" : "off") : value,
            colour: ({ given }, paint) => (given ? paint.bold : String)
          },
          { title: "FROM", of: ({ given }) => (given ? "environment" : "default"), colour: (_, paint) => paint.dim }
        ],
        paint
      )
    )
  })
).pipe(Command.withDescription("Print all settings; secrets are hidden"))

interface Finding {
  readonly name?: string
  readonly message: string
}

/** The error text without the wrapper of the schema library. */
const messageOf = ({ message }: { readonly message: string }): string =>
  /^SchemaError\(([^\n]*)(?:\n[^]*)?\)$/u.exec(message)?.[1] ?? message

/** Everything that would make a start fail, except errors that only the network reveals. */
const findings = Effect.gen(function* () {
  const wrong: Array<Finding> = []
  const warnings: Array<string> = []
  for (const setting of every) {
    const found = yield* read(setting)
    if (Result.isFailure(found)) wrong.push({ name: setting.name, message: messageOf(found.failure) })
  }
  const collect = <A>(
    effect: Effect.Effect<A, { readonly message: string; readonly findings?: ReadonlyArray<string> }>
  ) =>
    Effect.catch(effect, (error) =>
      Effect.sync(() => void wrong.push(...(error.findings ?? [messageOf(error)]).map((message) => ({ message }))))
    )
  const isReadable = !Backend.rows.some((setting) => wrong.some(({ name }) => name === setting.name))
  if (isReadable) {
    yield* collect(
      Effect.gen(function* () {
        const { check } = yield* Effect.promise(() => import("../../backend/Program.ts"))
        yield* check(yield* Backend.settings)
      })
    )
  }
  // these checks need valid settings
  if (wrong.length === 0) {
    yield* collect(
      Effect.gen(function* () {
        const all = yield* Effect.flatMap(settings, consistent)
        const { endpointsOf } = yield* Effect.promise(() => import("../../layers/Backends.ts"))
        if (all.backend === "grpc") yield* endpointsOf(all)
        const { read: readAdminUsers } = yield* Effect.promise(() => import("../../layers/AdminUsers.ts"))
        yield* readAdminUsers(all)
        const { url } = yield* Backend.sharedSettings
        if (all.backend === "grpc" || url === undefined) return
        // without BACKEND these may be the settings of a backend that runs alone
        const isGateway = Option.isSome(yield* Config.option(Config.String("BACKEND")))
        if (isGateway) wrong.push({ message: Backend.JOURNAL_OF_EMBEDDED })
        else warnings.push(`a gateway does not start: ${Backend.JOURNAL_OF_EMBEDDED}`)
      })
    )
  }
  return { wrong, warnings }
})

const check = Command.make("check", {}, () =>
  Effect.gen(function* () {
    const { warnings, wrong } = yield* findings
    warnings.push(...misspelt(new Set(Object.keys(process.env)), new Set(every.map(({ name }) => name))))
    yield* show({ valid: wrong.length === 0, findings: wrong, warnings }, (found, paint) =>
      [
        ...found.findings.map(
          ({ message, name }) => `${paint.red("invalid")}  ${name === undefined ? "" : `${name}: `}${message}`
        ),
        ...found.warnings.map((message) => `${paint.bold("warning")}  ${message}`),
        ...(found.valid ? [paint.green("the settings are valid")] : [])
      ].join("\n")
    )
    if (wrong.length > 0) return yield* new OutputFinished()
  })
).pipe(Command.withDescription("Check the settings and list all errors"))

export const config = Command.make("config").pipe(
  Command.withDescription("Settings: environment variables, read once at the start"),
  Command.withSubcommands([check, print])
)
