/** `admin`: access codes, competitions, the audit trail and password hashes. */
import { Config, Effect, Option, Redacted } from "effect"
import { Argument, Command, Flag } from "effect/cli"
import { parseAdminUser, printPasswordHash, roles } from "../../domain/Administrator.ts"
import type { AccessCode } from "../../domain/AccessCode.ts"
import type { Competition } from "../../domain/Competition.ts"
import { ChangeCompetitionBody, CreateCompetitionBody } from "../../http/api/AdminApi.ts"
import * as Gateway from "../Gateway.ts"
import { CliError } from "../ErrorOutput.ts"
import { bodyOf, file, optionally } from "../Flags.ts"
import { type Column, facts, type Paint, show, table, time } from "../Show.ts"

/** A whole number from 1 on; the default is 1. */
const count = (name: string, about: string, max = Infinity) => {
  const accepted = max === Infinity ? "1 or more" : `1 to ${max}`
  return Flag.Int(name).pipe(
    Flag.withDescription(`${about}, ${accepted}; default: 1`),
    Flag.filter(
      (value) => value >= 1 && value <= max,
      () => `expected ${accepted}`
    ),
    Flag.withDefault(1)
  )
}

const label = Flag.String("label").pipe(Flag.withDescription("At most 64 characters"), Flag.optional)

const codeColumns: ReadonlyArray<Column<AccessCode & { readonly code?: string }>> = [
  { title: "ID", of: ({ code_id }) => code_id },
  { title: "CODE", of: ({ code }) => code },
  { title: "LABEL", of: (code) => code.label },
  { title: "USES", right: true, of: ({ max_uses, uses }) => `${uses}/${max_uses}` },
  { title: "EXPIRES", of: ({ expires_time }) => (expires_time === undefined ? "no expiry" : time(expires_time)) },
  { title: "STATE", of: ({ revoked }) => (revoked ? "revoked" : "valid") }
]

const newCodes = Command.make(
  "new",
  {
    count: count("count", "Number of codes", 1_000),
    maxUses: count("max-uses", "Wallets that may use each code"),
    label
  },
  Effect.fnUntraced(function* ({ count, label, maxUses }) {
    const client = yield* Gateway.admin
    const payload = { count, max_uses: maxUses, ...optionally("label", label) }
    const { list } = yield* client.accessCodes.issue({ payload })
    yield* show(list, (codes, paint) => table(codes, codeColumns, paint))
  })
).pipe(Command.withDescription("Create access codes; each code is shown only once"))

const listCodes = Command.make("list", { label }, ({ label }) =>
  Effect.gen(function* () {
    const client = yield* Gateway.admin
    const query = optionally("label", label)
    const { list } = yield* client.accessCodes.list({ query })
    const columns = codeColumns.filter(({ title }) => title !== "CODE")
    yield* show(list, (codes, paint) => table(codes, columns, paint, "no codes"))
  })
).pipe(Command.withDescription("List access codes, newest first, without the codes: they are not stored"))

const revokeCode = Command.make(
  "revoke",
  { id: Argument.String("id").pipe(Argument.withDescription("code_id from the list")) },
  Effect.fnUntraced(function* ({ id }) {
    const client = yield* Gateway.admin
    const revoked = yield* client.accessCodes.revoke({ params: { code_id: id } })
    yield* show(revoked, ({ code_id }) => `${code_id} is revoked`)
  })
).pipe(Command.withDescription("Revoke an access code; wallets that used it keep their access"))

const codes = Command.make("codes").pipe(
  Command.withDescription("Access codes for a restricted launch"),
  Command.withSubcommands([newCodes, listCodes, revokeCode])
)

const printed = (competition: Competition, paint: Paint): string =>
  facts(
    [
      ["id", competition.id],
      ["slug", competition.slug],
      ["title", competition.title],
      ["status", competition.status],
      ["from", time(competition.start_time_ms)],
      ["until", time(competition.end_time_ms)],
      ["prize", `${competition.prize_usdc} USDC`],
      ["market", competition.symbol ?? "all"]
    ],
    paint
  )

const newCompetition = Command.make("new", { file }, ({ file }) =>
  Effect.gen(function* () {
    const payload = yield* bodyOf(CreateCompetitionBody, file)
    const client = yield* Gateway.admin
    yield* show(yield* client.admin.createCompetition({ payload }), printed)
  })
).pipe(Command.withDescription("Create a competition from a JSON file"))

const id = Argument.String("id").pipe(Argument.withDescription("Id of the competition"))

const changeCompetition = Command.make("change", { id, file }, ({ file, id }) =>
  Effect.gen(function* () {
    const payload = yield* bodyOf(ChangeCompetitionBody, file)
    const client = yield* Gateway.admin
    yield* show(yield* client.admin.changeCompetition({ params: { competition_id: id }, payload }), printed)
  })
).pipe(Command.withDescription("Change a competition; the JSON file holds the changed fields"))

const setStatus = (name: "publish" | "cancel", status: "scheduled" | "cancelled", about: string) =>
  Command.make(name, { id }, ({ id }) =>
    Effect.gen(function* () {
      const client = yield* Gateway.admin
      const changed = yield* client.admin.changeCompetition({ params: { competition_id: id }, payload: { status } })
      yield* show(changed, printed)
    })
  ).pipe(Command.withDescription(about))

const listCompetitions = Command.make("list", {}, () =>
  Effect.gen(function* () {
    // there is no admin endpoint for the list; a trader's wallet reads it
    const { client } = yield* Gateway.trader
    const { list } = yield* client.competition.competitions({ query: {} })
    yield* show(list, (all, paint) =>
      table(
        all,
        [
          { title: "ID", of: ({ id }) => id },
          { title: "SLUG", of: ({ slug }) => slug },
          { title: "STATUS", of: ({ status }) => status },
          { title: "FROM", of: ({ start_time_ms }) => time(start_time_ms) },
          { title: "UNTIL", of: ({ end_time_ms }) => time(end_time_ms) },
          { title: "PRIZE", right: true, of: ({ prize_usdc }) => prize_usdc }
        ],
        paint,
        "no competitions"
      )
    )
  })
).pipe(Command.withDescription("List competitions, latest start first; drafts are not included"))

const competitions = Command.make("competitions").pipe(
  Command.withDescription("Competitions"),
  Command.withSubcommands([
    newCompetition,
    changeCompetition,
    setStatus("publish", "scheduled", "Publish a draft; it then starts and ends at its times"),
    setStatus("cancel", "cancelled", "Cancel a competition"),
    listCompetitions
  ])
)

const optionalFlag = (name: string, about: string) => Flag.String(name).pipe(Flag.withDescription(about), Flag.optional)

const audit = Command.make(
  "audit",
  { actor: optionalFlag("actor", "Only this username"), action: optionalFlag("action", "Only this operationId") },
  Effect.fnUntraced(function* ({ action, actor }) {
    const client = yield* Gateway.admin
    const query = { ...optionally("actor", actor), ...optionally("action", action) }
    const { list } = yield* client.audit.list({ query })
    yield* show(list, (entries, paint) =>
      table(
        entries,
        [
          { title: "TIME", of: (entry) => time(entry.time) },
          { title: "ACTOR", of: (entry) => entry.actor },
          { title: "ACTION", of: (entry) => entry.action },
          { title: "PHASE", of: (entry) => entry.phase },
          { title: "TARGET", of: ({ target }) => target },
          { title: "REQUEST", of: (entry) => entry.request_id }
        ],
        paint,
        "no entries"
      )
    )
  })
).pipe(Command.withDescription("List administrator actions, newest first"))

/** The minimum of ADMIN_PASSWORD. */
const PASSWORD_CHARS_MIN = 12

const hash = Command.make(
  "hash",
  {
    username: Flag.String("username").pipe(Flag.withDescription("1 to 64 characters of A-Z, a-z, 0-9, ., _, @ and -")),
    role: Flag.Literals("role", roles).pipe(Flag.withDescription("Role of the administrator"))
  },
  Effect.fnUntraced(function* ({ role, username }) {
    const password = yield* Config.option(Config.Redacted("NEW_ADMIN_PASSWORD"))
    if (Option.isNone(password) || Redacted.value(password.value).length < PASSWORD_CHARS_MIN) {
      return yield* new CliError({
        code: "USAGE",
        message: `set NEW_ADMIN_PASSWORD to a password of at least ${PASSWORD_CHARS_MIN} characters`,
        hint: "read -rs NEW_ADMIN_PASSWORD && export NEW_ADMIN_PASSWORD"
      })
    }
    const { make } = yield* Effect.promise(() => import("../../layers/node/NodePasswordHashes.ts"))
    const password_hash = printPasswordHash(yield* make(Redacted.value(password.value)))
    const user = parseAdminUser(JSON.stringify({ username, role, password_hash }))
    if (typeof user === "string") return yield* new CliError({ code: "USAGE", message: user })
    yield* show(user, (line) => JSON.stringify(line))
  })
).pipe(Command.withDescription("Print a line for ADMIN_USERS_FILE; reads the password from NEW_ADMIN_PASSWORD"))

export const admin = Command.make("admin").pipe(
  Command.withDescription("Administration; reads the credentials from the environment"),
  Command.withSubcommands([codes, competitions, audit, hash])
)
