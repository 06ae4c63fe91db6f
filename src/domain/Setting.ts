/** A setting: an environment variable with its default and its meaning, as tables of them hold it. */
import { Config } from "effect"

export interface Setting<A> {
  /** Environment variable. */
  readonly name: string
  /** Default as text; "unset" where there is none. */
  readonly default: string
  readonly about: string
  readonly config: Config.Config<A>
}

/** A setting that has a value where its variable is not set. */
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

/** A setting that may be left out. */
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

/** What the settings of a table are once they are read. */
export type Values<Table> = { readonly [K in keyof Table]: Table[K] extends Setting<infer A> ? A : never }

/** Reads all settings of a table. */
export const all = <Table extends Readonly<Record<string, Setting<unknown>>>>(
  table: Table
): Config.Config<Values<Table>> =>
  Config.all(
    Object.fromEntries(Object.entries(table).map(([key, { config }]) => [key, config]))
  ) as unknown as Config.Config<Values<Table>>
