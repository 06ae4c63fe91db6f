/** Clients for commands: anonymous, with the wallet of the key, or as the administrator. */
import { Config, Effect, FileSystem, Option } from "effect"
import { Client } from "../client/index.ts"
import { subAccountAddress } from "../domain/Address.ts"
import { baseUrl } from "./Flags.ts"
import * as KeyFiles from "./KeyFiles.ts"
import { CliError } from "./ErrorOutput.ts"

/** A client without credentials, for public endpoints. */
export const anonymous = Effect.flatMap(baseUrl, (url) => Client.make({ baseUrl: url }))

/** Logs the wallet in, with the gateway's time, and stores the session. */
export const login = Effect.gen(function* () {
  const url = yield* baseUrl
  const wallet = yield* KeyFiles.wallet
  const client = yield* Client.make({ baseUrl: url })
  yield* client.syncTime
  const session = yield* client.login(wallet)
  yield* KeyFiles.store(wallet, url, session)
  return { client, wallet, session }
})

/** A client for the wallet. Uses the stored session, or logs in if there is none. */
export const trader = Effect.gen(function* () {
  const url = yield* baseUrl
  const wallet = yield* KeyFiles.wallet
  const stored = yield* KeyFiles.session(wallet, url)
  if (stored === undefined) return yield* Effect.map(login, ({ client }) => ({ client, wallet }))
  return { client: yield* Client.make({ baseUrl: url, credential: { type: "token", token: stored.token } }), wallet }
})

/** The given sub-account, else the first of the wallet. */
export const vaultOf = (wallet: { readonly root_address: string }, given: Option.Option<string>): string =>
  Option.getOrElse(given, () => subAccountAddress(wallet.root_address, 0))

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

/** A client for the administrator. */
export const admin = Effect.gen(function* () {
  const url = yield* baseUrl
  const username = yield* Config.option(Config.String("ADMIN_USERNAME"))
  const secret = yield* password
  if (Option.isNone(username) || Option.isNone(secret)) {
    return yield* new CliError({
      code: "USAGE",
      message: "the administrator's credentials are not set",
      hint: "set ADMIN_USERNAME, and ADMIN_PASSWORD or ADMIN_PASSWORD_FILE"
    })
  }
  return yield* Client.make({ baseUrl: url, admin: { username: username.value, password: secret.value } })
})
