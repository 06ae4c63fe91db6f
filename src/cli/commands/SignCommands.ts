/** `sign` and `verify`: show the exact text to sign, and explain why a signature is refused. */
import { Clock, Effect, FileSystem, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import * as Wallet from "../../client/Wallet.ts"
import { diagnose, type Diagnosis, messageOf, type Signed, windowOf } from "../Diagnosis.ts"
import * as KeyFiles from "../KeyFiles.ts"
import { OutputFinished, CliError } from "../ErrorOutput.ts"
import { facts, type Paint, show } from "../Show.ts"

const method = Argument.String("method").pipe(Argument.withDescription("GET, POST, PUT, PATCH or DELETE"))
const uri = Argument.String("uri").pipe(Argument.withDescription("Path and query, byte for byte as sent"))
const body = Flag.String("body").pipe(
  Flag.withDescription("File with the body; its hash becomes part of the signed text"),
  Flag.optional
)
const timestamp = Flag.Int("timestamp-ms").pipe(Flag.withDescription("Unix ms"))
const nonce = Flag.String("nonce").pipe(Flag.withDescription("8 to 64 characters, used once"))
const at = timestamp.pipe(Flag.withDescription("Unix ms; default: now"), Flag.optional)
const fresh = nonce.pipe(Flag.withDescription("Default: 128 random bits"), Flag.optional)

const bytesOf = (path: string) =>
  Effect.flatMap(FileSystem.FileSystem, (fs) => fs.readFile(path)).pipe(
    Effect.mapError(({ reason }) => new CliError({ code: "USAGE", message: `cannot read ${path}: ${reason._tag}` }))
  )
const bodyOf = (path: Option.Option<string>) => (Option.isNone(path) ? Effect.succeed(undefined) : bytesOf(path.value))

const moment = (input: { readonly at: Option.Option<number>; readonly nonce: Option.Option<string> }) =>
  Effect.map(Clock.currentTimeMillis, (now) => ({
    timestamp_ms: Option.getOrElse(input.at, () => now),
    nonce: Option.getOrElse(input.nonce, Wallet.nonce)
  }))

interface Made {
  readonly message: string
  readonly signature: string
  /** Fields or headers of the request. */
  readonly sends: Readonly<Record<string, string | number>>
}

const made = (signed: Signed, wallet: Wallet.Wallet, sends: (signature: string) => Made["sends"]): Made => {
  const message = messageOf(signed)
  const signature = wallet.sign(message)
  return { message, signature, sends: sends(signature) }
}

const printed = ({ message, sends }: Made, paint: Paint): string =>
  [
    facts(
      [
        ["signs", paint.bold(message)],
        ["bytes", `${new TextEncoder().encode(message).length}, UTF-8, no newline at the end`]
      ],
      paint
    ),
    "",
    facts(
      Object.entries(sends).map(([name, value]) => [name, String(value)] as const),
      paint
    )
  ].join("\n")

const signLogin = Command.make("login", { at, nonce: fresh }, (input) =>
  Effect.gen(function* () {
    const wallet = yield* KeyFiles.wallet
    const when = yield* moment(input)
    const { login_name: public_key, verifying_key } = wallet
    yield* show(
      made({ kind: "login", name: public_key, ...when }, wallet, (signature) => ({
        public_key,
        signature,
        ...when,
        ...(verifying_key === undefined ? {} : { verifying_key })
      })),
      printed
    )
  })
).pipe(Command.withDescription("Sign a login; prints the body of POST /api/v1/authorize"))

const signRequest = Command.make("request", { method, uri, body, at, nonce: fresh }, (input) =>
  Effect.gen(function* () {
    const wallet = yield* KeyFiles.wallet
    const when = yield* moment(input)
    const bytes = yield* bodyOf(input.body)
    const body_sha256 = bytes && Wallet.bodyHash(bytes)
    const signed: Signed = { kind: "request", method: input.method, uri: input.uri, ...when, body_sha256, body: bytes }
    yield* show(
      made(signed, wallet, (signature) => ({
        "X-API-KEY": wallet.public_key,
        "X-SIGNATURE": signature,
        "X-TIMESTAMP-MS": when.timestamp_ms,
        "X-NONCE": when.nonce,
        ...(body_sha256 === undefined ? {} : { "X-BODY-SHA256": body_sha256 })
      })),
      printed
    )
  })
).pipe(
  Command.withDescription("Sign a request with an API key; prints its headers"),
  Command.withExamples([{ command: "gateway sign request GET '/api/v1/order/realtime?limit=1' --key bot" }])
)

const signSocket = Command.make("socket", { at, nonce: fresh }, (input) =>
  Effect.gen(function* () {
    const wallet = yield* KeyFiles.wallet
    const when = yield* moment(input)
    yield* show(
      made({ kind: "socket", ...when }, wallet, (signature) => ({
        op: "auth",
        api_key: wallet.public_key,
        signature,
        ...when
      })),
      printed
    )
  })
).pipe(Command.withDescription("Sign the auth message of a WebSocket with an API key"))

export const sign = Command.make("sign").pipe(
  Command.withDescription("Sign with a key and show the exact text that is signed"),
  Command.withSubcommands([signLogin, signRequest, signSocket])
)

const claim = {
  publicKey: Flag.String("public-key").pipe(
    Flag.withDescription("Public key as sent in the request; for a party its verifying key")
  ),
  signature: Flag.String("signature").pipe(Flag.withDescription("Signature as sent in the request"))
}
const when = {
  timestamp,
  nonce,
  now: Flag.Int("now").pipe(Flag.withDescription("The gateway's time, Unix ms; default: now"), Flag.optional)
}

const verdict = (diagnosis: Diagnosis, paint: Paint): string => {
  const { found, message, problems, valid } = diagnosis
  const lines = [
    facts(
      [
        ["expected text", paint.bold(message)],
        ["signed text", found && paint.bold(found.message)]
      ],
      paint
    )
  ]
  if (valid) return [...lines, "", paint.green("valid")].join("\n")
  return [
    ...lines,
    "",
    ...problems.map(({ message, reason }) => `${paint.red("refused")}  ${message} (${reason})`)
  ].join("\n")
}

/** Prints the diagnosis. The command fails if the signature is refused. */
const check = (
  signed: Signed,
  input: { readonly publicKey: string; readonly signature: string; readonly now?: Option.Option<number> }
) =>
  Effect.gen(function* () {
    // the gateway's own verifier, so that both always agree
    const { Signatures } = yield* Effect.promise(() => import("../../services/identity/Signatures.ts"))
    const { layer } = yield* Effect.promise(() => import("../../layers/node/NodeSignatures.ts"))
    const { verifySync } = yield* Effect.provide(Signatures, layer())
    const clock = yield* Clock.currentTimeMillis
    const now_ms = Option.getOrElse(input.now ?? Option.none<number>(), () => clock)
    const diagnosis = diagnose(
      { signed, public_key: input.publicKey, signature: input.signature, now_ms, window_ms: windowOf(signed) },
      verifySync
    )
    yield* show(diagnosis, verdict)
    if (!diagnosis.valid) return yield* new OutputFinished()
  })

const verifyLogin = Command.make(
  "login",
  {
    ...claim,
    ...when,
    party: Flag.String("party").pipe(Flag.withDescription("Party id of the login"), Flag.optional)
  },
  (input) =>
    check(
      {
        kind: "login",
        name: Option.getOrElse(input.party, () => input.publicKey),
        timestamp_ms: input.timestamp,
        nonce: input.nonce
      },
      input
    )
).pipe(Command.withDescription("Check the signature of a login"))

const verifyRequest = Command.make(
  "request",
  {
    method,
    uri,
    body,
    bodyHash: Flag.String("body-sha256").pipe(
      Flag.withDescription("X-BODY-SHA256, if the request has it"),
      Flag.optional
    ),
    ...claim,
    ...when
  },
  Effect.fnUntraced(function* (input) {
    yield* check(
      {
        kind: "request",
        method: input.method,
        uri: input.uri,
        timestamp_ms: input.timestamp,
        nonce: input.nonce,
        body_sha256: Option.getOrUndefined(input.bodyHash),
        body: yield* bodyOf(input.body)
      },
      input
    )
  })
).pipe(Command.withDescription("Check the signature of a request with an API key"))

const verifySocket = Command.make("socket", { ...claim, ...when }, (input) =>
  check({ kind: "socket", timestamp_ms: input.timestamp, nonce: input.nonce }, input)
).pipe(Command.withDescription("Check the signature of a WebSocket auth message"))

const verifyText = Command.make(
  "text",
  { text: Argument.String("text").pipe(Argument.withDescription("The signed text")), ...claim },
  (input) => check({ kind: "text", text: input.text }, input)
).pipe(Command.withDescription("Check the signature of any text"))

export const verify = Command.make("verify").pipe(
  Command.withDescription("Check whether a gateway would accept a signature, and explain why not"),
  Command.withSubcommands([verifyLogin, verifyRequest, verifySocket, verifyText])
)
