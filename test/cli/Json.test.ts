/** With --json every command prints one value per line, and errors have a stable code. */
import * as NodeServices from "@effect/platform-node/NodeServices"
import { ConfigProvider, Console, Effect, Exit, Layer } from "effect"
import { CliConfig, CliError, Command, GlobalFlag } from "effect/cli"
import { mkdtempSync, rmSync } from "node:fs"
import { chmodSync, readdirSync, statSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { dirname, join } from "node:path"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { shippedMarkets } from "../../src/backend/markets/ShippedMarkets.ts"
import { toPrinted } from "../../src/cli/ErrorOutput.ts"
import { root } from "../../src/cli/Root.ts"
import { type Exchange, startExchange } from "../../verification/harness/Exchange.ts"
import { ADMIN } from "../../verification/harness/Settings.ts"
import { eventually } from "../../verification/harness/Wait.ts"

describe("with --json", () => {
  let exchange: Exchange
  let home: string
  beforeAll(async () => {
    home = mkdtempSync(join(tmpdir(), "gateway-cli-"))
    exchange = await startExchange({ env: { ADMIN_USERNAME: ADMIN.username, ADMIN_PASSWORD: ADMIN.password } })
  }, 60_000)
  afterAll(async () => {
    await exchange.close()
    rmSync(home, { recursive: true, force: true })
  })

  /** Runs a command in this process; returns the printed values and the exit. */
  const run = async (args: ReadonlyArray<string>, env: Readonly<Record<string, string>> = {}) => {
    const lines: Array<string> = []
    const console: Console.Console = { ...globalThis.console, log: (line: string) => void lines.push(line) }
    const environment = {
      GATEWAY_URL: exchange.url,
      GATEWAY_HOME: home,
      ADMIN_USERNAME: ADMIN.username,
      ADMIN_PASSWORD: ADMIN.password,
      ...env
    }
    const exit = await Effect.runPromiseExit(
      Command.runWith(root, { version: "0", renderErrors: false })([...args, "--json"]).pipe(
        Effect.provideService(Console.Console, console),
        Effect.provide(
          Layer.mergeAll(
            NodeServices.layer,
            ConfigProvider.layer(ConfigProvider.fromUnknown(environment)),
            CliConfig.layer({ builtIns: [GlobalFlag.Help, GlobalFlag.Version, GlobalFlag.Completions] })
          )
        )
      )
    )
    return { values: lines.map((line) => JSON.parse(line)), exit }
  }
  /** The single value that a command prints. */
  const value = async (...args: ReadonlyArray<string>) => {
    const { exit, values } = await run(args)
    assert.isTrue(Exit.isSuccess(exit), `${args.join(" ")}: ${JSON.stringify(exit)}`)
    assert.lengthOf(values, 1, args.join(" "))
    return values[0]
  }
  /** The printed error of a command that fails. */
  const failure = async (args: ReadonlyArray<string>, env?: Readonly<Record<string, string>>) => {
    const { exit } = await run(args, env)
    assert.isTrue(Exit.isFailure(exit), args.join(" "))
    const error = await Effect.runPromise(Effect.flip(exit))
    assert.isFalse(CliError.isCliError(error), args.join(" "))
    return toPrinted(error, exchange.url)
  }

  it("creates a key file that only its owner can read, and logs in with it", async () => {
    const made = await value("keys", "new")
    assert.match(made.public_key, /^0x[0-9a-f]{64}$/u)
    assert.strictEqual(statSync(made.path).mode & 0o777, 0o600)
    assert.notProperty(made, "seed")
    const { path: _, ...known } = made
    assert.deepStrictEqual(await value("keys", "show"), known)
    assert.strictEqual((await value("login")).root_address, made.root_address)
    for (const name of readdirSync(join(home, "sessions")))
      assert.strictEqual(statSync(join(home, "sessions", name)).mode & 0o777, 0o600)
    assert.match((await value("keys", "new", "--key", "party", "--party", "me")).party, /^me::1220/u)
    assert.strictEqual(
      (await value("login", "--key", "party")).user_id,
      (await value("keys", "show", "--key", "party")).user_id
    )
  })

  it("places, amends and cancels an order, and lists the results", async () => {
    await value("keys", "new", "--key", "trader")
    const as = (...args: ReadonlyArray<string>) => value(...args, "--key", "trader")
    assert.strictEqual((await as("faucet", "1000")).amount, "1000")
    const ref = await as(
      "order",
      "create",
      "BTC-USDC",
      "buy",
      "0.001",
      "--price",
      "58000",
      "--post-only",
      "--link-id",
      "a"
    )
    assert.strictEqual(ref.order_link_id, "a")
    assert.strictEqual(ref.order.order_status, "New")
    const amended = await as("order", "amend", "BTC-USDC", ref.order_id, "--price", "58001", "--if-version", "1")
    assert.strictEqual(amended.order_id, ref.order_id)
    assert.strictEqual(amended.order.price, "58001")
    const [order] = await eventually(
      "the amended order",
      () => as("order", "list", "--symbol", "BTC-USDC"),
      (list) => list[0]?.version === 2
    )
    assert.strictEqual(order.price, "58001")
    assert.strictEqual(order.post_only, true)
    const { values } = await run(["book", "BTC-USDC", "--levels", "1", "--count", "1"])
    assert.deepStrictEqual(values[0].bids, [["58001", "0.001"]])
    assert.lengthOf(await as("balances"), 1)
    assert.deepStrictEqual(await as("positions"), [])
    assert.strictEqual((await as("order", "cancel", "BTC-USDC", "a")).order_id, ref.order_id)
    const [done] = await eventually(
      "the canceled order",
      () => as("order", "list", "--history"),
      (list) => list[0]?.order_status === "Canceled"
    )
    assert.strictEqual(done.order_id, ref.order_id)
    assert.deepStrictEqual(await as("order", "cancel-all"), [])
  })

  it("fails where the exchange rejects the order, and prints it", async () => {
    await value("keys", "new", "--key", "poor")
    const { exit, values } = await run(["order", "create", "BTC-USDC", "Buy", "1", "--price", "58000", "--key", "poor"])
    assert.isTrue(Exit.isFailure(exit))
    const [{ order }] = values
    assert.deepInclude(order, { order_status: "Rejected", reject_reason: "EcInsufficientBalance", side: "Buy" })
  })

  it("refuses flags of an order that would have no effect", async () => {
    const create = ["order", "create", "BTC-USDC", "buy", "0.001"]
    const trigger = await failure([...create, "--trigger-by", "mark", "--key", "poor"])
    assert.deepInclude(trigger, { code: "USAGE", hint: "see gateway order create --help" })
    assert.include(trigger.message, "--trigger-by: expected --trigger, --take-profit or --stop-loss")
    const times = ["--price", "58000", "--time-in-force", "IOC", "--expires-in", "60"]
    const expiry = await failure([...create, ...times, "--key", "poor"])
    assert.include(expiry.message, "--time-in-force: expected none with --expires-in")
    assert.deepStrictEqual(await value("order", "list", "--key", "poor"), [])
  })

  it("names the field of a file or a flag that is refused", async () => {
    const path = join(home, "orders.json")
    const own = await value("keys", "show", "--key", "poor")
    const order = {
      sub_account_address: own.sub_account_address,
      symbol: "BTC-USDC",
      side: "Buy",
      order_type: "Market"
    }
    const refused = async (text: string) => {
      writeFileSync(path, text)
      const { code, message } = await failure(["order", "batch", "--file", path, "--key", "poor"])
      return [code, message.replace(`${path}: `, "")]
    }
    // without the field the order would open a position
    assert.deepStrictEqual(await refused(JSON.stringify({ orders: [{ ...order, qty: "0.001", reduceOnly: true }] })), [
      "USAGE",
      "unknown field orders.0.reduceOnly; did you mean reduce_only?"
    ])
    assert.deepStrictEqual(await refused(JSON.stringify({ orders: [] })), [
      "USAGE",
      "orders: expected a list of 1 to 20 items, got a list of 0"
    ])
    assert.match((await refused("{"))[1]!, /^expected JSON: /u)
    const key = (await value("keys", "new", "--key", "short")).public_key
    const made = await value("api-keys", "new", key, "--expires-in-days", "2", "--key", "poor")
    assert.approximately(made.expires_time, Date.now() + 172_800_000, 60_000)
    const label = await failure(["admin", "codes", "new", "--label", "x".repeat(65)])
    assert.deepStrictEqual(label, {
      code: "SchemaError",
      message: "label: expected a value with a length of at most 64"
    })
  })

  it("prints a code and a hint for every failure", async () => {
    assert.deepInclude(await failure(["login", "--key", "nobody"]), {
      code: "KEY",
      hint: "create one with gateway keys new, or choose another with --key"
    })
    await value("keys", "new", "--key", "twice")
    assert.match((await failure(["keys", "new", "--key", "twice"])).message, /exists already/u)
    const open = join(home, "keys", "twice.json")
    chmodSync(open, 0o644)
    assert.strictEqual((await failure(["keys", "show", "--key", open])).hint, `chmod 600 ${open}`)
    const broken = join(home, "broken.json")
    writeFileSync(broken, '{"seed":"12"}', { mode: 0o600 })
    assert.match((await failure(["keys", "show", "--key", broken])).message, /is not a key file/u)
    const seedless = await failure(["keys", "show"], { GATEWAY_SEED: "not-a-seed" })
    assert.strictEqual(seedless.message, "GATEWAY_SEED is not a seed")
    assert.strictEqual((await failure(["login", "--url", "http://127.0.0.1:1", "--key", "trader"])).code, "UNREACHABLE")
    assert.strictEqual((await failure(["login", "--url", "nowhere"])).code, "USAGE")
    assert.match((await failure(["book", "NO-MARKET", "--count", "1"])).message, /feed ended/u)
    const refused = await failure(["order", "create", "NO-MARKET", "buy", "1", "--key", "trader"])
    assert.deepInclude(refused, { code: "NOT_FOUND", hint: "write a market as BTC-USDC" })
    assert.strictEqual(
      (await failure(["admin", "codes", "list"], { ADMIN_PASSWORD: "wrong-password" })).code,
      "UNAUTHORIZED"
    )
    const file = join(home, "password")
    writeFileSync(file, `${ADMIN.password}\n`)
    assert.deepStrictEqual((await run(["admin", "codes", "list"], { ADMIN_PASSWORD_FILE: file })).values, [[]])
    assert.match((await failure(["admin", "competitions", "new", "--file", file])).message, /password: /u)
  })

  it("finds all errors in the settings, and shows no secret", async () => {
    const secrets = {
      ADMIN_PASSWORD: "hush-hush",
      REDIS_URL: "redis://user:hush@host",
      DATABASE_URL: "postgres://user:hush@host/db"
    }
    const wrong = await run(["config", "check"], { ...secrets, PORT: "many", BACKEND_TLS_CERT: "cert.pem" })
    assert.isTrue(Exit.isFailure(wrong.exit))
    const [{ findings, valid }] = wrong.values
    assert.isFalse(valid)
    assert.deepStrictEqual(
      findings.map(({ name }: { readonly name?: string }) => name),
      ["PORT", "ADMIN_PASSWORD", undefined]
    )
    const printed = await run(["config", "print"], {
      ...secrets,
      ADMIN_PASSWORD: "hush-hush-hush",
      BACKEND_SECRET: "hush"
    })
    assert.isTrue(Exit.isSuccess(printed.exit))
    assert.notInclude(JSON.stringify([wrong.values, printed.values]), "hush")
    const settings = Object.fromEntries(
      printed.values[0].map(({ name, value }: { name: string; value: unknown }) => [name, value])
    )
    assert.deepInclude(settings, { PORT: 3010, DATABASE_URL: "<secret>", BACKEND_SECRET: "<secret>", SIM_MAKER: true })
    assert.deepStrictEqual((await run(["config", "check"])).values, [{ valid: true, findings: [], warnings: [] }])
  })
  it("reports settings that contradict each other", async () => {
    const found = async (environment: Record<string, string>) =>
      (await run(["config", "check"], environment)).values[0].findings.map(
        ({ message }: { message: string }) => message
      )
    const [fleet] = await found({ DATABASE_URL: "postgres://user@host/db" })
    assert.include(fleet, "DATABASE_URL requires BACKEND=grpc")
    // a setting of both programs is reported once
    assert.lengthOf(await found({ LOG_LEVEL: "loud" }), 1)
    const [ping] = await found({ WS_PING_INTERVAL_MS: "30000" })
    assert.include(ping, "WS_PING_INTERVAL_MS must be less than WS_KEEPALIVE_TIMEOUT_MS")
  })
  it("reports JOURNAL_URL at a gateway with an embedded backend, and warns of it where it may be that of a backend", async () => {
    const checked = async (environment: Record<string, string>) => {
      const JOURNAL_URL = "postgres://user:hush@host/db"
      const { exit, values } = await run(["config", "check"], { JOURNAL_URL, ...environment })
      return { isValid: Exit.isSuccess(exit), ...values[0] }
    }
    const embedded = await checked({ BACKEND: "embedded" })
    assert.isFalse(embedded.isValid)
    assert.include(embedded.findings[0].message, "JOURNAL_URL is for a backend that runs alone, with BACKEND=grpc here")
    const unset = await checked({})
    assert.isTrue(unset.isValid)
    assert.include(unset.warnings[0], "a gateway does not start: JOURNAL_URL is for a backend that runs alone")
    const grpc = await checked({ BACKEND: "grpc", SEQUENCER_URL: "127.0.0.1:1" })
    assert.deepStrictEqual([grpc.isValid, grpc.warnings], [true, []])
  })
  it("reports each error of a markets file separately", async () => {
    const path = join(mkdtempSync(join(tmpdir(), "gateway-markets-")), "markets.json")
    const [first, second] = shippedMarkets
    writeFileSync(
      path,
      JSON.stringify({
        markets: [
          { ...first, tick_size: "0" },
          { ...second, max_leverage: "51" }
        ]
      })
    )
    const { exit, values } = await run(["config", "check"], { MARKETS_FILE: path })
    rmSync(dirname(path), { recursive: true })
    assert.isTrue(Exit.isFailure(exit))
    assert.deepStrictEqual(
      values[0].findings.map(({ message }: { readonly message: string }) => message),
      [
        `MARKETS_FILE: ${path}: markets[0].tick_size: given "0", accepted: decimal text above 0 with at most 10 decimal places`,
        `MARKETS_FILE: ${path}: markets[1].max_leverage: given "51", accepted: at most 1 / initial_margin_rate 0.02 of the first tier`
      ]
    )
  })
})
