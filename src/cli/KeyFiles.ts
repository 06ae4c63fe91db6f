/**
 * Keys and sessions of whoever uses the command line: files that only their owner can read, below GATEWAY_HOME.
 *
 * A secret is never an argument: it would stand in the shell's history and in the list of processes. It comes from such a
 * file, or from the environment (GATEWAY_SEED).
 */
import { Clock, Config, Effect, FileSystem, Option, Redacted, Schema } from "effect"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import * as Wallet from "../client/Wallet.ts"
import { Key } from "./Flags.ts"
import { CliError } from "./ErrorOutput.ts"

/** Bits of a file's mode that let others in. */
const OTHERS = 0o077

const KeyFile = Schema.Struct({
  seed: Schema.String.check(Schema.isPattern(/^(?:0x)?[0-9a-fA-F]{64}$/u)),
  /** Of a party only: what stands before `::`. */
  hint: Schema.optionalKey(Schema.String)
})
const readKeyFile = Schema.decodeUnknownEffect(Schema.fromJsonString(KeyFile))

const Session = Schema.Struct({ token: Schema.String, expires_at_ms: Schema.Int })
export type Session = typeof Session.Type
const readSessions = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Record(Schema.String, Session)))

const home = Config.String("GATEWAY_HOME").pipe(Config.withDefault(join(homedir(), ".trading-gateway")))

/** Where the key of a name is; a path names itself. */
const pathOf = Effect.fnUntraced(function* (name: string) {
  if (name.includes("/") || name.endsWith(".json")) return name
  return join(yield* home, "keys", `${name}.json`)
})

const unusable = (message: string, hint?: string) =>
  new CliError({ code: "KEY", message, ...(hint === undefined ? {} : { hint }) })

const writeOwn = Effect.fnUntraced(function* (path: string, value: unknown, flag: "w" | "wx") {
  const fs = yield* FileSystem.FileSystem
  yield* fs.makeDirectory(dirname(path), { recursive: true, mode: 0o700 })
  yield* fs.writeFileString(path, `${JSON.stringify(value)}\n`, { flag, mode: 0o600 })
})

/** Makes a key of a new seed, or a party's of one; never over another. */
export const create = Effect.fnUntraced(function* (hint: string | undefined) {
  const path = yield* pathOf(yield* Key)
  const { seed } = Wallet.generate()
  yield* writeOwn(path, { seed, ...(hint === undefined ? {} : { hint }) }, "wx").pipe(
    Effect.mapError(({ reason }) =>
      reason._tag === "AlreadyExists"
        ? unusable(`${path} exists already`, "name another one with --key; a key is never written over")
        : unusable(`cannot write ${path}: ${reason._tag}`)
    )
  )
  return { path, wallet: hint === undefined ? Wallet.fromSeed(seed) : Wallet.ofParty(hint, seed) }
})

const walletOfFile = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const missing = (reason: string) =>
    reason === "NotFound"
      ? unusable(`there is no key at ${path}`, "make one with gateway keys new, or name another with --key")
      : unusable(`cannot read ${path}: ${reason}`)
  const { mode } = yield* Effect.mapError(fs.stat(path), ({ reason }) => missing(reason._tag))
  if (process.platform !== "win32" && (mode & OTHERS) !== 0) {
    return yield* unusable(`${path} can be read by others`, `chmod 600 ${path}`)
  }
  const text = yield* Effect.mapError(fs.readFileString(path), ({ reason }) => missing(reason._tag))
  const { hint, seed } = yield* Effect.mapError(readKeyFile(text), () =>
    unusable(`${path} is no key file`, 'it holds {"seed": "<64 hex digits>"}')
  )
  return hint === undefined ? Wallet.fromSeed(seed) : Wallet.ofParty(hint, seed)
})

/** The wallet that commands speak for. */
export const wallet = Effect.gen(function* () {
  const seed = yield* Config.option(Config.Redacted("GATEWAY_SEED"))
  if (Option.isNone(seed)) return yield* walletOfFile(yield* pathOf(yield* Key))
  return yield* Effect.try({
    try: () => Wallet.fromSeed(Redacted.value(seed.value)),
    catch: () => unusable("GATEWAY_SEED is no seed", "a seed is 64 hex digits")
  })
})

/** A wallet's sessions, one for each gateway. */
const sessionsPath = (of: Wallet.Wallet) =>
  Effect.map(home, (path) => join(path, "sessions", `${of.root_address.slice(2, 34)}.json`))

const sessions = (of: Wallet.Wallet) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    return yield* readSessions(yield* fs.readFileString(yield* sessionsPath(of)))
    // what cannot be read is made anew by the next login
  }).pipe(Effect.orElseSucceed((): Readonly<Record<string, Session>> => ({})))

/** The session of a wallet with a gateway, if there is one that has not ended. */
export const session = Effect.fnUntraced(function* (of: Wallet.Wallet, url: string) {
  const kept = (yield* sessions(of))[url]
  return kept !== undefined && kept.expires_at_ms > (yield* Clock.currentTimeMillis) ? kept : undefined
})

/** Keeps a session for later commands. */
export const keep = Effect.fnUntraced(function* (of: Wallet.Wallet, url: string, { expires_at_ms, token }: Session) {
  const all = { ...(yield* sessions(of)), [url]: { token, expires_at_ms } }
  const path = yield* sessionsPath(of)
  yield* Effect.mapError(writeOwn(path, all, "w"), ({ reason }) => unusable(`cannot write ${path}: ${reason._tag}`))
})
