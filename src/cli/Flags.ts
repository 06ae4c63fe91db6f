/** Flags that all commands share. */
import { Config, Effect, FileSystem, Option, Schema } from "effect"
import { Flag, GlobalFlag } from "effect/cli"
import { valueAt } from "../domain/InputText.ts"
import { ofIssue } from "../domain/SchemaErrorText.ts"
import { CliError } from "./ErrorOutput.ts"

export const Json = GlobalFlag.Setting("json")({
  flag: Flag.Boolean("json").pipe(Flag.withDescription("Print JSON, one value per line"), Flag.withDefault(false))
})

export const Url = GlobalFlag.Setting("url")({
  flag: Flag.String("url").pipe(
    Flag.withDescription("URL of the gateway; default: GATEWAY_URL, else http://127.0.0.1:3010"),
    Flag.optional
  )
})

export const Key = GlobalFlag.Setting("key")({
  flag: Flag.String("key").pipe(
    Flag.withDescription("Name of a key, or path of a key file; GATEWAY_SEED in the environment overrides it"),
    Flag.withDefault("default")
  )
})

export const all = [Json, Url, Key] as const

/** Base URL of the gateway, without a trailing slash. */
export const baseUrl = Effect.gen(function* () {
  const given = Option.getOrUndefined(yield* Url)
  const url = given ?? (yield* Config.String("GATEWAY_URL").pipe(Config.withDefault("http://127.0.0.1:3010")))
  if (!URL.canParse(url) || !/^https?:$/u.test(new URL(url).protocol)) {
    return yield* new CliError({
      code: "USAGE",
      message: `${url} is not an http or https URL`,
      hint: "write it as http://host:port"
    })
  }
  return url.replace(/\/+$/u, "")
})

/** A field of a request whose flag is set; else none. */
export const optionally = <K extends string, A>(key: K, value: Option.Option<A>) =>
  Option.isSome(value) ? ({ [key]: value.value } as { readonly [P in K]: A }) : {}

export const file = Flag.String("file").pipe(Flag.withDescription("JSON file with the request body of the API"))

/**
 * Reads a JSON file and decodes it with a schema. An unknown field is an error: without it the request would be another one, such
 * as an order that opens a position where `reduce_only` is misspelt.
 */
export const bodyOf = Effect.fnUntraced(function* <S extends Schema.Codec<unknown, unknown>>(schema: S, path: string) {
  const fs = yield* FileSystem.FileSystem
  const refused = (message: string) => new CliError({ code: "USAGE", message: `${path}: ${message}` })
  const text = yield* Effect.mapError(fs.readFileString(path), ({ reason }) =>
    refused(`cannot be read: ${reason._tag}`)
  )
  const value = yield* Effect.try({
    try: () => JSON.parse(text) as unknown,
    catch: (error) => refused(`expected JSON: ${error instanceof Error ? error.message : String(error)}`)
  })
  return yield* Schema.decodeUnknownEffect(schema, { onExcessProperty: "error" })(value).pipe(
    Effect.mapError(({ issue }) => refused(ofIssue(issue, (field) => valueAt(value, field)).message))
  )
})
