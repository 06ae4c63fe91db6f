/** A setting: an environment variable with its default, meaning and parser. Tables of settings consist of these. */
import { Config, Effect, Layer, type Redacted, References, Schema } from "effect"
import { nearest } from "./NearestName.ts"

export interface Setting<A> {
  /** Environment variable. */
  readonly name: string
  /** Default as text; "unset" if there is none. */
  readonly default: string
  readonly about: string
  /** Accepted values, where `about` does not name them. */
  readonly accepts: string | undefined
  readonly config: Config.Config<A>
}

/** Reads and checks a variable. */
export interface Parser<A> {
  (name: string): Config.Config<A>
  readonly accepts?: string
}

/** A setting with a default. */
export const withDefault = <A>(name: string, config: Parser<A>, fallback: A, about: string): Setting<A> => ({
  name,
  default: String(fallback) === "false" ? "off" : String(fallback) === "true" ? "on" : String(fallback),
  about,
  accepts: config.accepts,
  config: config(name).pipe(Config.withDefault(fallback))
})

/** An optional setting. */
export const optional = <A>(name: string, config: Parser<A>, about: string): Setting<A | undefined> => ({
  name,
  default: "unset",
  about,
  accepts: config.accepts,
  config: config(name).pipe(Config.withDefault(undefined))
})

/** One of the given literals. */
export const oneOf =
  <const L extends ReadonlyArray<string>>(...literals: L) =>
  (name: string): Config.Config<L[number]> =>
    Config.Literals(literals, name)

/** A secret text, never displayed. */
export const redacted = (name: string): Config.Config<Redacted.Redacted<string>> => Config.Redacted(name)

const isDecodable = (text: string): boolean => {
  try {
    decodeURIComponent(text)
    return true
  } catch {
    return false
  }
}

/** An address that may have a password, which no error quotes. */
export const url =
  (
    protocols: ReadonlyArray<string>,
    options: {
      /** Divides an address that names several servers. */
      readonly partsOf?: (text: string) => ReadonlyArray<string>
      /** Accepted paths; default: all. */
      readonly path?: { readonly pattern: RegExp; readonly about: string }
    } = {}
  ) =>
  (name: string): Config.Config<Redacted.Redacted<string>> => {
    const { partsOf = (text: string) => [text], path } = options
    const isUrl = (text: string) => URL.canParse(text) && protocols.includes(new URL(text).protocol)
    const check = Schema.makeFilter((text: string) => {
      const parts = partsOf(text)
      if (!parts.every(isUrl)) return `expected ${protocols[0]}//host`
      for (const { password, pathname, username } of parts.map((part) => new URL(part))) {
        if (![username, password].every(isDecodable)) return "a % in the user or the password is written as %25"
        if (path !== undefined && !path.pattern.test(pathname)) return path.about
      }
      return true
    })
    return Config.schema(Schema.Redacted(Schema.String.check(check)), name)
  }

/** A whole number from `minimum` to `maximum`; without `maximum` as large as a number can be exact. */
export const integer = (minimum: number, maximum?: number): Parser<number> => {
  const accepts = maximum === undefined ? `${minimum} or more` : `${minimum} to ${maximum}`
  const inRange = Schema.isBetween(
    { minimum, maximum: maximum ?? Number.MAX_SAFE_INTEGER },
    { message: `must be ${accepts}` }
  )
  const parse = (name: string) => Config.schema(Schema.Int.check(inRange), name)
  return Object.assign(parse, { accepts })
}

/** A time in ms that a timer of Node can take. Node fires a longer one at once. */
export const timer = (minimum: number): Parser<number> => integer(minimum, 2 ** 31 - 1)

/** A time in ms that is added to a time of day: ten years at most, so that the sum is one that every store holds. */
export const span = (minimum: number): Parser<number> => integer(minimum, 10 * 365 * 24 * 60 * 60 * 1000)

/** A TCP port; 0 selects a free one. */
export const port = integer(0, 65_535)

/** Log level of every program. */
export const logLevel = withDefault(
  "LOG_LEVEL",
  oneOf("trace", "debug", "info", "warn", "error"),
  "info",
  "least severe line that is logged"
)

const levels = { trace: "Trace", debug: "Debug", info: "Info", warn: "Warn", error: "Error" } as const

/** The level from which lines are logged. */
export const minimumLogLevel = (level: keyof typeof levels) => Layer.succeed(References.MinimumLogLevel, levels[level])

/** Shorter names differ by one letter from variables of other programs, such as PORT from SORT. */
const MISSPELT_LENGTH = 8

/**
 * Warnings about variables that are no setting and differ from one by a letter. One that is set as well is not meant: the other
 * variable is that of another program. A misspelt setting has its default, so that DATABSE_URL leads to a database in a file.
 */
export const misspelt = (given: ReadonlySet<string>, known: ReadonlySet<string>): ReadonlyArray<string> =>
  [...given].flatMap((name) => {
    if (name.length < MISSPELT_LENGTH || known.has(name)) return []
    const meant = nearest(name, known, 1)
    return meant === undefined || given.has(meant) ? [] : [`${name} is no setting; did you mean ${meant}?`]
  })

/** Logs a warning for each variable of the process that is a misspelt setting. */
export const warnOfMisspelt = (settings: ReadonlyArray<Setting<unknown>>): Effect.Effect<void> =>
  Effect.suspend(() =>
    Effect.forEach(
      misspelt(new Set(Object.keys(process.env)), new Set(settings.map(({ name }) => name))),
      (text) => Effect.logWarning(text),
      { discard: true }
    )
  )

/** The values of a table of settings. */
export type Values<Table> = { readonly [K in keyof Table]: Table[K] extends Setting<infer A> ? A : never }

/** Reads all settings of a table. */
export const all = <Table extends Readonly<Record<string, Setting<unknown>>>>(
  table: Table
): Config.Config<Values<Table>> =>
  Config.all(
    Object.fromEntries(Object.entries(table).map(([key, { config }]) => [key, config]))
  ) as unknown as Config.Config<Values<Table>>
