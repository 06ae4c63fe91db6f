/** `keys` and `login`. */
import { Effect, Option } from "effect"
import { Command, Flag } from "effect/cli"
import type { Wallet } from "../../client/Wallet.ts"
import { subAccountAddress } from "../../domain/Address.ts"
import * as Gateway from "../Gateway.ts"
import * as KeyFiles from "../KeyFiles.ts"
import { facts, type Paint, show, time } from "../Show.ts"

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
