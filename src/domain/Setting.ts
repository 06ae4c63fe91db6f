/** A setting: an environment variable with its default, meaning and parser. Tables of settings consist of these. */
import { Config, type Redacted, Schema } from "effect"

export interface Setting<A> {
  /** Environment variable. */
  readonly name: string
  /** Default as text; "unset" if there is none. */
  readonly default: string
  readonly about: string
  readonly config: Config.Config<A>
}

/** A setting with a default. */
export const withDefault = <A>(
  name: string,
  config: (name: string) => Config.Config<A>,
  fallback: A,
  about: string
): Setting<A> => ({
  name,
  default: String(fallback) === "false" ? "off" : String(fallback) === "true" ? "on" : String(fallback),
  about,
  config: config(name).pipe(Config.withDefault(fallback))
})

/** An optional setting. */
export const optional = <A>(
  name: string,
  config: (name: string) => Config.Config<A>,
  about: string
): Setting<A | undefined> => ({
  name,
  default: "unset",
  about,
  config: config(name).pipe(Config.withDefault(undefined))
})

/** One of the given literals. */
export const oneOf =
  <const L extends ReadonlyArray<string>>(...literals: L) =>
  (name: string): Config.Config<L[number]> =>
    Config.Literals(literals, name)

/** A secret text, never displayed. */
export const redacted = (name: string): Config.Config<Redacted.Redacted<string>> => Config.Redacted(name)

/** A whole number from `minimum` to `maximum`. */
export const integer =
  (minimum: number, maximum = Number.MAX_SAFE_INTEGER) =>
  (name: string): Config.Config<number> =>
    Config.schema(Schema.Int.check(Schema.isBetween({ minimum, maximum })), name)

/** A TCP port; 0 selects a free one. */
export const port = integer(0, 65_535)

/** Log level of every program. */
export const logLevel = withDefault(
  "LOG_LEVEL",
  oneOf("trace", "debug", "info", "warn", "error"),
  "info",
  "least severe line that is logged"
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
