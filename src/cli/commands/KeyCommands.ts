/** `keys`, `api-keys` and `login`. */
import { Clock, Effect, Option } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import type { Wallet } from "../../client/Wallet.ts"
import { subAccountAddress } from "../../domain/Address.ts"
import { Scope } from "../../domain/Enumerations.ts"
import { Uuid } from "../../domain/Identity.ts"
import { DAY_MS } from "../../domain/Time.ts"
import type { ApiKey } from "../../domain/User.ts"
import { optionally } from "../Flags.ts"
import * as Gateway from "../Gateway.ts"
import * as KeyFiles from "../KeyFiles.ts"
import * as Live from "../Live.ts"
import { type Column, facts, type Paint, show, table, time } from "../Show.ts"

/** The public part of a key. */
const publicOf = ({ login_name, public_key, root_address, user_id }: Wallet) => ({
  public_key,
  ...(login_name === public_key ? {} : { party: login_name }),
  root_address,
  sub_account_address: subAccountAddress(root_address, 0),
  user_id
})
type Public = ReturnType<typeof publicOf>

const printed = (key: Public & { readonly path?: string }, paint: Paint): string =>
  facts(
    [
      ["key file", key.path],
      ["public key", key.public_key],
      ["party", "party" in key ? String(key.party) : undefined],
      ["root address", key.root_address],
      ["sub-account", key.sub_account_address],
      ["user id", key.user_id]
    ],
    paint
  )

const create = Command.make(
  "new",
  {
    party: Flag.String("party").pipe(
      Flag.withDescription("Create the key of a party; the value is the part of its id before ::"),
      Flag.optional
    )
  },
  Effect.fnUntraced(function* ({ party }) {
    const { path, wallet } = yield* KeyFiles.create(Option.getOrUndefined(party))
    yield* show({ path, ...publicOf(wallet) }, printed)
  })
).pipe(
  Command.withDescription("Create a key and store its seed in a file that only you can read"),
  Command.withExamples([{ command: "gateway keys new --key bot" }])
)

const display = Command.make("show", {}, () =>
  Effect.flatMap(KeyFiles.wallet, (wallet) => show(publicOf(wallet), printed))
).pipe(Command.withDescription("Show the public part of a key"))

export const keys = Command.make("keys").pipe(
  Command.withDescription("Keys: files below GATEWAY_HOME (~/.trading-gateway), or at a path that you choose"),
  Command.withSubcommands([create, display])
)

const apiKeyColumns: ReadonlyArray<Column<ApiKey>> = [
  { title: "ID", of: ({ api_key_id }) => api_key_id },
  { title: "LABEL", of: ({ label }) => label },
  { title: "SCOPES", of: ({ scopes }) => scopes.join(",") },
  { title: "LAST USED", of: ({ last_used_time }) => (last_used_time === undefined ? "never" : time(last_used_time)) },
  { title: "EXPIRES", of: ({ expires_time }) => (expires_time === undefined ? "never" : time(expires_time)) }
]

const listApiKeys = Command.make("list", Live.watching, (input) =>
  Effect.gen(function* () {
    const { client } = yield* Gateway.trader
    const read = Effect.map(client.user.apiKeys(), ({ list }) => list)
    yield* Live.list(input, read, (all, paint) => table(all, apiKeyColumns, paint, "no API keys"))
  })
).pipe(Command.withDescription("List API keys that are not revoked"))

const newApiKey = Command.make(
  "new",
  {
    publicKey: Argument.String("public-key").pipe(
      Argument.withDescription("Public key, such as gateway keys new --key bot prints; its seed stays where it is")
    ),
    label: Flag.String("label").pipe(Flag.withDescription("A name, at most 64 characters"), Flag.optional),
    scopes: Flag.Literals("scope", Scope.literals).pipe(
      Flag.withDescription("Permission of the key, repeated for more; default: read and trade"),
      Flag.atLeast(0)
    ),
    subAccounts: Flag.String("sub-account").pipe(
      Flag.withDescription("Address of a sub-account, repeated for more; default: all, later ones too"),
      Flag.atLeast(0)
    ),
    addresses: Flag.String("ip").pipe(
      Flag.withDescription("CIDR block or address that may use it, repeated for more; default: any"),
      Flag.atLeast(0)
    ),
    expiresIn: Flag.Int("expires-in-days").pipe(
      Flag.withDescription("Days until it expires; default: never"),
      Flag.optional
    )
  },
  Effect.fnUntraced(function* (input) {
    const { client } = yield* Gateway.trader
    const now = yield* Clock.currentTimeMillis
    const made = yield* client.user.createApiKey({
      payload: {
        public_key: input.publicKey,
        scopes: input.scopes.length === 0 ? ["read", "trade"] : input.scopes,
        ...optionally("label", input.label),
        ...(input.subAccounts.length === 0 ? {} : { sub_account_addresses: input.subAccounts }),
        ...(input.addresses.length === 0 ? {} : { ip_allowlist: input.addresses }),
        ...optionally(
          "expires_time",
          Option.map(input.expiresIn, (days) => now + days * DAY_MS)
        )
      }
    })
    yield* show(made, (key, paint) => table([key], apiKeyColumns, paint))
  })
).pipe(
  Command.withDescription("Register an API key: it signs requests, without a login"),
  Command.withExamples([{ command: "gateway api-keys new 0x3d40… --label bot --scope read --scope trade" }])
)

const revokeApiKey = Command.make(
  "revoke",
  { id: Argument.String("id").pipe(Argument.withDescription("Id of the API key"), Argument.withSchema(Uuid)) },
  ({ id }) =>
    Effect.gen(function* () {
      const { client } = yield* Gateway.trader
      const revoked = yield* client.user.revokeApiKey({ params: { api_key_id: id } })
      yield* show(revoked, ({ api_key_id }) => `revoked ${api_key_id}`)
    })
).pipe(Command.withDescription("Revoke an API key, for ever"))

export const apiKeys = Command.make("api-keys").pipe(
  Command.withDescription("List, register and revoke API keys"),
  Command.withSubcommands([listApiKeys, newApiKey, revokeApiKey])
)

export const login = Command.make("login", {}, () =>
  Effect.gen(function* () {
    const { session } = yield* Gateway.login
    const { expires_at_ms, root_address, user_id } = session
    // the token is not printed
    yield* show({ user_id, root_address, expires_at_ms }, (value, paint) =>
      facts(
        [
          ["user id", value.user_id],
          ["root address", value.root_address],
          ["expires", time(value.expires_at_ms)]
        ],
        paint
      )
    )
  })
).pipe(Command.withDescription("Log in with the key and store the session for later commands"))
