/** The gateway as commands call it: as nobody, as the wallet of the key, or as the administrator. */
import { Config, Effect, FileSystem, Option } from "effect"
import { Client } from "../client/index.ts"
import { subAccountAddress } from "../domain/Address.ts"
import { baseUrl } from "./Flags.ts"
import * as KeyFiles from "./KeyFiles.ts"
import { CliError } from "./ErrorOutput.ts"

/** For what anybody may ask. */
export const anybody = Effect.flatMap(baseUrl, (url) => Client.make({ baseUrl: url }))

/** Logs the wallet in, by the gateway's clock, and keeps the session. */
export const login = Effect.gen(function* () {
  const url = yield* baseUrl
  const wallet = yield* KeyFiles.wallet
  const client = yield* Client.make({ baseUrl: url })
  yield* client.syncTime
  const session = yield* client.login(wallet)
  yield* KeyFiles.keep(wallet, url, session)
  return { client, wallet, session }
})

/** Speaks for the wallet: with the session that is kept, else it logs in first. */
export const trader = Effect.gen(function* () {
  const url = yield* baseUrl
  const wallet = yield* KeyFiles.wallet
  const kept = yield* KeyFiles.session(wallet, url)
  if (kept === undefined) return yield* Effect.map(login, ({ client }) => ({ client, wallet }))
  return { client: yield* Client.make({ baseUrl: url, credential: { type: "token", token: kept.token } }), wallet }
})

/** The sub-account that was asked for, or the wallet's first. */
export const vaultOf = (wallet: { readonly root_address: string }, asked: Option.Option<string>): string =>
  Option.getOrElse(asked, () => subAccountAddress(wallet.root_address, 0))

const password = Effect.gen(function* () {
  const path = yield* Config.option(Config.String("ADMIN_PASSWORD_FILE"))
  if (Option.isNone(path)) return yield* Config.option(Config.String("ADMIN_PASSWORD"))
  const fs = yield* FileSystem.FileSystem
  const text = yield* Effect.mapError(
    fs.readFileString(path.value),
    ({ reason }) =>
      new CliError({ code: "USAGE", message: `ADMIN_PASSWORD_FILE: cannot read ${path.value}: ${reason._tag}` })
  )
  return Option.some(text.trimEnd())
})

/** Speaks for the administrator. */
export const admin = Effect.gen(function* () {
  const url = yield* baseUrl
  const username = yield* Config.option(Config.String("ADMIN_USERNAME"))
  const secret = yield* password
  if (Option.isNone(username) || Option.isNone(secret)) {
    return yield* new CliError({
      code: "USAGE",
      message: "who the administrator is must stand in the environment",
      hint: "set ADMIN_USERNAME, and ADMIN_PASSWORD or ADMIN_PASSWORD_FILE"
    })
  }
  return yield* Client.make({ baseUrl: url, admin: { username: username.value, password: secret.value } })
})
