/**
 * Keys and sessions of the command line: files below GATEWAY_HOME that only their owner can read.
 *
 * A secret is never an argument, because arguments appear in the shell history and in the process list. It is read from
 * a file or from the environment (GATEWAY_SEED).
 */
import { Clock, Config, Effect, FileSystem, Option, Redacted, Schema } from "effect"
import { homedir } from "node:os"
import { dirname, join } from "node:path"
import * as Wallet from "../client/Wallet.ts"
import { Key } from "./Flags.ts"
import { CliError } from "./ErrorOutput.ts"

/** File mode bits that give access to group and others. */
const OTHERS = 0o077

const KeyFile = Schema.Struct({
  seed: Schema.String.check(Schema.isPattern(/^(?:0x)?[0-9a-fA-F]{64}$/u)),
  /** For a party: the part of its id before `::`. */
  hint: Schema.optionalKey(Schema.String)
})
const readKeyFile = Schema.decodeUnknownEffect(Schema.fromJsonString(KeyFile))

const Session = Schema.Struct({ token: Schema.String, expires_at_ms: Schema.Int })
export type Session = typeof Session.Type
const readSessions = Schema.decodeUnknownEffect(Schema.fromJsonString(Schema.Record(Schema.String, Session)))

const home = Config.String("GATEWAY_HOME").pipe(Config.withDefault(join(homedir(), ".trading-gateway")))

/** Path of a named key; a path is returned as it is. */
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

/** Creates a key, or the key of a party, from a new seed. Never overwrites a file. */
export const create = Effect.fnUntraced(function* (hint: string | undefined) {
  const path = yield* pathOf(yield* Key)
  const { seed } = Wallet.generate()
  yield* writeOwn(path, { seed, ...(hint === undefined ? {} : { hint }) }, "wx").pipe(
    Effect.mapError(({ reason }) =>
      reason._tag === "AlreadyExists"
        ? unusable(`${path} exists already`, "choose another name with --key; a key file is never overwritten")
        : unusable(`cannot write ${path}: ${reason._tag}`)
    )
  )
  return { path, wallet: hint === undefined ? Wallet.fromSeed(seed) : Wallet.ofParty(hint, seed) }
})

const walletOfFile = Effect.fnUntraced(function* (path: string) {
  const fs = yield* FileSystem.FileSystem
  const missing = (reason: string) =>
    reason === "NotFound"
      ? unusable(`no key file at ${path}`, "create one with gateway keys new, or choose another with --key")
      : unusable(`cannot read ${path}: ${reason}`)
  const { mode } = yield* Effect.mapError(fs.stat(path), ({ reason }) => missing(reason._tag))
  if (process.platform !== "win32" && (mode & OTHERS) !== 0) {
    return yield* unusable(`other users can read ${path}`, `chmod 600 ${path}`)
  }
  const text = yield* Effect.mapError(fs.readFileString(path), ({ reason }) => missing(reason._tag))
  const { hint, seed } = yield* Effect.mapError(readKeyFile(text), () =>
    unusable(`${path} is not a key file`, 'expected {"seed": "<64 hex digits>"}')
  )
  return hint === undefined ? Wallet.fromSeed(seed) : Wallet.ofParty(hint, seed)
})

/** The wallet of the commands. */
export const wallet = Effect.gen(function* () {
  const seed = yield* Config.option(Config.Redacted("GATEWAY_SEED"))
  if (Option.isNone(seed)) return yield* walletOfFile(yield* pathOf(yield* Key))
  return yield* Effect.try({
    try: () => Wallet.fromSeed(Redacted.value(seed.value)),
    catch: () => unusable("GATEWAY_SEED is not a seed", "expected 64 hex digits")
  })
})

/** File of a wallet's sessions, one for each gateway URL. */
const sessionsPath = (of: Wallet.Wallet) =>
  Effect.map(home, (path) => join(path, "sessions", `${of.root_address.slice(2, 34)}.json`))

const sessions = (of: Wallet.Wallet) =>
  Effect.gen(function* () {
    const fs = yield* FileSystem.FileSystem
    return yield* readSessions(yield* fs.readFileString(yield* sessionsPath(of)))
    // an unreadable file is replaced by the next login
  }).pipe(Effect.orElseSucceed((): Readonly<Record<string, Session>> => ({})))

/** The session of a wallet at a gateway, if it has not expired. */
export const session = Effect.fnUntraced(function* (of: Wallet.Wallet, url: string) {
  const stored = (yield* sessions(of))[url]
  return stored !== undefined && stored.expires_at_ms > (yield* Clock.currentTimeMillis) ? stored : undefined
})

/** Stores a session for later commands. */
export const store = Effect.fnUntraced(function* (of: Wallet.Wallet, url: string, { expires_at_ms, token }: Session) {
  const all = { ...(yield* sessions(of)), [url]: { token, expires_at_ms } }
  const path = yield* sessionsPath(of)
  yield* Effect.mapError(writeOwn(path, all, "w"), ({ reason }) => unusable(`cannot write ${path}: ${reason._tag}`))
})
