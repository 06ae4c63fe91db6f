/** Flags of all commands, and what they stand for. */
import { Config, Effect, Option } from "effect"
import { Flag, GlobalFlag } from "effect/cli"
import { CliError } from "./ErrorOutput.ts"

export const Json = GlobalFlag.Setting("json")({
  flag: Flag.Boolean("json").pipe(
    Flag.withDescription("Print JSON for programs: one value a line"),
    Flag.withDefault(false)
  )
})

export const Url = GlobalFlag.Setting("url")({
  flag: Flag.String("url").pipe(
    Flag.withDescription("Where the gateway is; GATEWAY_URL, or http://127.0.0.1:3010 by default"),
    Flag.optional
  )
})

export const Key = GlobalFlag.Setting("key")({
  flag: Flag.String("key").pipe(
    Flag.withDescription("Name of a key, or path of a key file; GATEWAY_SEED in the environment takes its place"),
    Flag.withDefault("default")
  )
})

export const all = [Json, Url, Key] as const

/** Base of the gateway's addresses, without a slash at the end. */
export const baseUrl = Effect.gen(function* () {
  const asked = Option.getOrUndefined(yield* Url)
  const url = asked ?? (yield* Config.String("GATEWAY_URL").pipe(Config.withDefault("http://127.0.0.1:3010")))
  if (!URL.canParse(url) || !/^https?:$/u.test(new URL(url).protocol)) {
    return yield* new CliError({
      code: "USAGE",
      message: `${url} is no address of a gateway`,
      hint: "write it as http://host:port"
    })
  }
  return url.replace(/\/+$/u, "")
})
