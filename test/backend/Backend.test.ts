import { spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { assert, describe, it } from "@effect/vitest"
import { credentials } from "@grpc/grpc-js"
import { ConfigProvider, Effect, Layer, Logger, Option, Schedule, Stream } from "effect"
import * as Backend from "../../src/backend/Backend.ts"
import * as Embedded from "../../src/backend/Embedded.ts"
import { settings } from "../../src/backend/Settings.ts"
import { rootOfService, subAccountAddress, userIdOf } from "../../src/domain/Address.ts"
import * as Decimal from "../../src/domain/Decimal.ts"
import * as GrpcFeed from "../../src/layers/grpc/GrpcFeed.ts"
import * as GrpcPriceFeed from "../../src/layers/grpc/GrpcPriceFeed.ts"
import * as GrpcReferee from "../../src/layers/grpc/GrpcReferee.ts"
import * as GrpcSequencer from "../../src/layers/grpc/GrpcSequencer.ts"
import {
  type Command,
  type CommandAck,
  type CommandResult,
  SequencerClient
} from "../../src/proto/gateway/v1/sequencer.ts"
import type { Endpoint } from "../../src/layers/grpc/Channel.ts"
import type { Open } from "../../src/node/PortCall.ts"
import { OrderType, Side, SmpType, TimeInForce } from "../../src/proto/gateway/v1/types.ts"
import { Feed } from "../../src/services/Feed.ts"
import { PriceFeed } from "../../src/services/PriceFeed.ts"
import { Referee } from "../../src/services/Referee.ts"
import { type Command as PortCommand, type CommandBody, Sequencer } from "../../src/services/Sequencer.ts"
import * as FeedContract from "../contracts/FeedContract.ts"
import * as SequencerContract from "../contracts/SequencerContract.ts"
import { submitAll, temporary } from "../doubles/FakeBackend.ts"
import { startBackend, verifyJournal } from "../../verification/harness/BackendProcess.ts"
import { eventually } from "../../verification/harness/Wait.ts"

const quiet = Logger.layer([])

const settingsOf = (directory: string, more: Record<string, string> = {}) =>
  Effect.provideService(
    settings,
    ConfigProvider.ConfigProvider,
    ConfigProvider.fromUnknown({
      DATA_DIR: directory,
      BACKEND_PORT: "0",
      INDEX_SOURCE: "manual",
      SIM_MAKER: "off",
      BACKEND_SECRET: "sesame",
      HOST: "127.0.0.1",
      ...more
    })
  )

const folder = Effect.acquireRelease(Effect.sync(temporary), ({ remove }) => Effect.sync(remove))

/** The gateway's four adapters. */
const connected = (endpoint: Endpoint) =>
  Layer.mergeAll(
    GrpcSequencer.layer(endpoint),
    GrpcReferee.layer(endpoint),
    GrpcFeed.layer(endpoint),
    GrpcPriceFeed.layer(endpoint)
  )

/** The adapters, connected to a separate backend. */
const adapters = (more?: Record<string, string>) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { directory } = yield* folder
      const values = yield* settingsOf(directory, more)
      const { port } = yield* Backend.serve(values)
      return connected({ address: `127.0.0.1:${port}`, secret: values.secret, tls: undefined })
    })
  ).pipe(Layer.provide(quiet))

const embedded = (directory: string, more: Record<string, string> = {}) =>
  Effect.provideService(
    Embedded.make,
    ConfigProvider.ConfigProvider,
    ConfigProvider.fromUnknown({ DATA_DIR: directory, LOG_LEVEL: "error", SIM_MAKER: "off", ...more })
  )

/** The adapters, connected to a backend in a thread of this process. */
const inThread = Layer.unwrap(
  Effect.gen(function* () {
    const { directory } = yield* folder
    const { open } = yield* embedded(directory, { INDEX_SOURCE: "manual" })
    return connected({ open })
  })
).pipe(Layer.provide(quiet))

const contractRoot = "0x63c5215e87770d17b9f4cd47c777e322f4eb152cfd2054c1080fd9d57c48913b"
/** The contract suites deposit into this account. */
const withAccount = <E>(layer: Layer.Layer<Sequencer | Referee | Feed | PriceFeed, E>) =>
  Layer.tap(layer, (context) =>
    Effect.gen(function* () {
      const sequencer = yield* Sequencer
      yield* sequencer.submit({
        ...SequencerContract.depositOf("0", "open"),
        body: { type: "create_sub_account", root_address: contractRoot, index: 0 }
      })
    }).pipe(Effect.provideContext(context))
  )

SequencerContract.suite("the exchange behind gRPC", withAccount(adapters()))
FeedContract.suite("the exchange behind gRPC", withAccount(adapters()))
SequencerContract.suite("the exchange in a thread of this process", withAccount(inThread))
FeedContract.suite("the exchange in a thread of this process", withAccount(inThread))

const wallet = (name: string) => {
  const root = rootOfService(name)
  return { root, user_id: userIdOf(root), address: subAccountAddress(root, 0) }
}
type Wallet = ReturnType<typeof wallet>

let ids = 0
const commandOf = (by: Wallet, body: CommandBody): PortCommand => ({
  command_id: `backend-${++ids}`,
  user_id: by.user_id,
  sub_account_address: by.address,
  body
})
const open = (by: Wallet) => [
  commandOf(by, { type: "create_sub_account", root_address: by.root, index: 0 }),
  commandOf(by, { type: "deposit", deposit_id: `d-${by.root}`, asset: "USDC", amount: "10000", source: "rail" })
]
const limit = (by: Wallet, side: "Buy" | "Sell", price: string, qty: string, order_link_id?: string) =>
  commandOf(by, {
    type: "place",
    order: {
      symbol: "BTC-USDC",
      side,
      order_type: "Limit",
      qty,
      price,
      time_in_force: "GTC",
      post_only: false,
      reduce_only: false,
      close_on_trigger: false,
      order_link_id,
      expire_time: undefined,
      trigger: undefined,
      tpsl: undefined,
      smp_type: "CancelTaker"
    }
  })

describe("the exchange behind gRPC", () => {
  it.live("shows a trade in events and reads alike", () =>
    Effect.gen(function* () {
      const [sequencer, referee, feed] = [yield* Sequencer, yield* Referee, yield* Feed]
      const [maker, taker] = [wallet("maker"), wallet("taker")]
      for (const command of [...open(maker), ...open(taker)]) yield* sequencer.submit(command)
      const resting = yield* sequencer.submit(limit(maker, "Sell", "60000", "0.2"))
      const ack = yield* sequencer.submit(limit(taker, "Buy", "60000", "0.05", "mine"))
      assert.strictEqual(ack.orders[0]?.order_link_id, "mine")

      const events = yield* feed.follow(undefined).pipe(
        Stream.flatMap((frame) => Stream.fromIterable(frame.type === "events" ? frame.events : [])),
        Stream.takeUntil((event) => event.seq === ack.seq),
        Stream.runCollect
      )
      const mine = events.filter((event) => event.step === events.at(-1)!.step)
      const executions = mine.flatMap(({ body }) => (body.type === "execution" ? [body.execution] : []))
      assert.deepStrictEqual(
        executions.map(({ exec_price, exec_qty, is_maker, sub_account_address }) => [
          exec_price,
          exec_qty,
          is_maker,
          sub_account_address
        ]),
        [
          ["60000", "0.05", false, taker.address],
          ["60000", "0.05", true, maker.address]
        ]
      )

      const book = yield* sequencer.orderBook("BTC-USDC")
      assert.deepStrictEqual([book.bids, book.asks], [[], [["60000", "0.15"]]])
      const orders = yield* sequencer.openOrders
      assert.deepStrictEqual(
        orders.orders.map(({ user_id, order }) => [user_id, order.order_id, order.order_status, order.leaves_qty]),
        [[maker.user_id, resting.orders[0]!.order_id, "PartiallyFilled", "0.15"]]
      )
      const { positions } = yield* referee.positions({
        user_id: taker.user_id,
        sub_account_address: undefined,
        symbol: undefined
      })
      assert.deepStrictEqual(
        positions.map(({ side, size, avg_price }) => [side, size, avg_price]),
        [["Buy", "0.05", "60000"]]
      )
      const account = yield* referee.account(taker.address)
      assert.strictEqual(account.balances[0]?.asset, "USDC")
      assert.isAtLeast(account.as_of_seq, ack.seq)
      assert.strictEqual((yield* referee.portfolio(taker.user_id)).portfolio.positions.length, 1)
      assert.strictEqual((yield* sequencer.instruments).length, 4)
      assert.strictEqual((yield* referee.prices([])).length, 4)
      assert.isAbove((yield* referee.riskTiers).length, 4)
      assert.strictEqual((yield* referee.feeRates(taker.user_id)).length, 4)
      // 0.05 at a mark near 60000 reserves a twentieth of its value at leverage 20; the preview changes nothing
      const asked = { sub_account_address: taker.address, symbol: "BTC-USDC" }
      const preview = yield* referee.previewMargin({ ...asked, leverage: "20" })
      const [position] = (yield* referee.account(taker.address)).positions
      assert.strictEqual(preview.required, Decimal.format(Decimal.parse(position!.position_im) / 2n))
      assert.isTrue(preview.ok)
      for (const leverage of ["0", "0.5", "1.001", "ten"])
        assert.strictEqual(
          (yield* Effect.flip(referee.previewMargin({ ...asked, leverage })))._tag,
          "RefereeFault",
          leverage
        )
      assert.strictEqual((yield* sequencer.subAccounts(taker.user_id))[0]?.sub_account_address, taker.address)
    }).pipe(Effect.provide(adapters()))
  )

  it.live("keeps the configured number of events, and replays the older ones in a thread of its own", () =>
    Effect.gen(function* () {
      const [sequencer, feed] = [yield* Sequencer, yield* Feed]
      const one = wallet("one")
      yield* Effect.forEach(open(one), sequencer.submit, { discard: true })
      const paid = Array.from({ length: 12_000 }, (_, i) =>
        commandOf(one, { type: "deposit", deposit_id: `again-${i}`, asset: "USDC", amount: "1", source: "rail" })
      )
      yield* Effect.forEach(paid, sequencer.submit, { concurrency: 500, discard: true })
      const { epoch, head_seq } = yield* sequencer.head
      assert.isAbove(head_seq, 12_000)
      const first = yield* feed.follow({ epoch, seq: head_seq - 9_000 }).pipe(Stream.runHead)
      assert.isTrue(Option.isSome(first))
      const old = yield* feed.follow({ epoch, seq: 1 }).pipe(
        Stream.flatMap((frame) => Stream.fromIterable(frame.type === "events" ? frame.events : [])),
        Stream.map(({ seq }) => seq),
        Stream.take(head_seq - 1),
        Stream.runCollect
      )
      assert.deepStrictEqual(
        old,
        Array.from({ length: head_seq - 1 }, (_, i) => i + 2)
      )
      const wrong = yield* Effect.flip(settingsOf("elsewhere", { EVENTS_KEPT: "9999" }))
      assert.include(wrong.message, "EVENTS_KEPT")
    }).pipe(Effect.provide(adapters({ EVENTS_KEPT: "10000" })))
  )

  it.live("streams prices, all of them first, and heartbeats with the applied seq", () =>
    Effect.gen(function* () {
      const prices = yield* PriceFeed
      const frames = yield* prices.frames.pipe(Stream.take(2), Stream.runCollect)
      assert.deepStrictEqual(
        frames.map((frame) => frame.type),
        ["heartbeat", "prices"]
      )
      assert.isTrue(frames[1]?.type === "prices" && frames[1].prices.length === 4)
    }).pipe(Effect.provide(adapters()))
  )
})

/** Commands that rest, cross, cancel and are refused, from funded accounts. */
const traffic = (round: number, count: number, traders: ReadonlyArray<Wallet>): ReadonlyArray<Command> =>
  Array.from({ length: count }, (_, i) => {
    const by = traders[i % traders.length]!
    const base = {
      command_id: `r${round}-${i}`,
      user_id: by.user_id,
      sub_account_address: by.address,
      issued_at_ms: 1
    }
    if (i % 7 === 6) {
      return {
        ...base,
        command: { $case: "cancel_all", value: { symbol: undefined, side: 0, order_filter: 3, cancel_type: 1 } }
      }
    }
    return {
      ...base,
      command: {
        $case: "place_order",
        value: {
          symbol: "BTC-USDC",
          side: i % 2 === 0 ? Side.SIDE_BUY : Side.SIDE_SELL,
          order_type: OrderType.ORDER_TYPE_LIMIT,
          qty: "0.001",
          price: String(60_000 + ((i * 37) % 200) - 100),
          time_in_force: TimeInForce.TIME_IN_FORCE_GTC,
          post_only: false,
          reduce_only: false,
          close_on_trigger: false,
          order_link_id: `r${round}-${i}`,
          trigger: undefined,
          tpsl: undefined,
          smp_type: SmpType.SMP_TYPE_CANCEL_TAKER
        }
      }
    }
  })

const funding = (traders: ReadonlyArray<Wallet>): ReadonlyArray<Command> =>
  traders.flatMap(({ root, user_id, address }) => {
    const base = { user_id, sub_account_address: address, issued_at_ms: 1 }
    return [
      {
        ...base,
        command_id: `s-${user_id}`,
        command: { $case: "create_sub_account", value: { root_address: root, index: 0 } }
      },
      {
        ...base,
        command_id: `d-${user_id}`,
        command: {
          $case: "deposit_funds",
          value: { deposit_id: `d-${root}`, asset: "USDC", amount: "10000", source: "rail" }
        }
      }
    ]
  })

const ackOf = ({ outcome }: CommandResult): CommandAck =>
  outcome?.$case === "ack" ? outcome.value : assert.fail(JSON.stringify(outcome))

describe("npm run backend", () => {
  it("keeps every acknowledged command over kill -9, and replays to the same state", async () => {
    const { directory, remove } = temporary()
    const traders = ["kill-a", "kill-b", "kill-c"].map(wallet)
    let backend = await startBackend({ dataDir: directory })
    let client = new SequencerClient(`127.0.0.1:${backend.port}`, credentials.createInsecure())
    await submitAll(client, [funding(traders)])
    let kept = 0
    for (let round = 1; round <= 3; round++) {
      const commands = traffic(round, 2000, traders)
      const acked = new Map<string, CommandResult>()
      const call = client.submitStream()
      const ended = new Promise<void>((resolve) => call.on("error", () => resolve()).on("end", resolve))
      call.on("data", ({ results }) => {
        for (const result of results) {
          if (result.outcome?.$case === "ack") acked.set(result.outcome.value.command_id, result)
        }
        // Killed somewhere between the first answers and the last: another place each round.
        if (acked.size >= round * 400) void backend.kill()
      })
      for (let i = 0; i < commands.length; i += 50) call.write({ batch_id: i, commands: commands.slice(i, i + 50) })
      await ended
      assert.isNull(await backend.ended)
      client.close()
      assert.isAtLeast(acked.size, round * 400)

      backend = await startBackend({ dataDir: directory })
      client = new SequencerClient(`127.0.0.1:${backend.port}`, credentials.createInsecure())
      const again = await submitAll(client, [commands.filter(({ command_id }) => acked.has(command_id)).slice(0, 1024)])
      for (const [id, result] of again) {
        assert.deepStrictEqual(ackOf(result), { ...ackOf(acked.get(id)!), duplicate: true })
      }
      assert.strictEqual(again.size, Math.min(acked.size, 1024))
      kept += acked.size
    }
    client.close()
    // A graceful end writes the hash of the thrice recovered state down; verify replays the journal and compares.
    assert.strictEqual(await backend.stop(), 0)
    const verified = verifyJournal(directory)
    assert.strictEqual(verified.checkpoints, 1)
    assert.isAtLeast(verified.entries, kept)
    remove()
  }, 60_000)

  it("refuses a second instance on the same directory, and reports an invalid setting in one line", async () => {
    const { directory, remove } = temporary()
    const backend = await startBackend({ dataDir: directory })
    const second = await startBackend({ dataDir: directory }).then(
      () => "started",
      (error: Error) => error.message
    )
    assert.match(second, /another backend is using/)
    await backend.stop()
    writeFileSync(join(directory, "markets.json"), "{}")
    const wrong = await startBackend({
      dataDir: directory,
      env: { MARKETS_FILE: join(directory, "markets.json") }
    }).then(
      () => "started",
      (error: Error) => error.message
    )
    assert.match(wrong, /^the backend ended with 1:\nbackend: MARKETS_FILE: .+\n?$/u)
    remove()
  }, 20_000)
})

describe("Embedded", () => {
  it.live("restarts with its streams: commands are sequenced, and events go on without a gap", () =>
    Effect.gen(function* () {
      const { directory } = yield* folder
      const { open, worker } = yield* embedded(directory, { INDEX_SOURCE: "manual" })
      const paths: Array<string> = []
      const counted: Open = (path, ...call) => {
        paths.push(path)
        return open(path, ...call)
      }
      yield* Effect.gen(function* () {
        const [sequencer, feed] = [yield* Sequencer, yield* Feed]
        const seen: Array<number> = []
        let losses = 0
        yield* Effect.forkScoped(
          Stream.runForEach(feed.follow(undefined), (frame) =>
            Effect.sync(() => {
              if (frame.type === "events") seen.push(...frame.events.map(({ seq }) => seq))
              else if (frame.type === "interrupted") losses++
            })
          )
        )
        const deposit = (id: string) =>
          Effect.retry(
            Effect.suspend(() => sequencer.submit(SequencerContract.depositOf("1", id))),
            {
              times: 200,
              schedule: Schedule.spaced("50 millis")
            }
          )
        yield* sequencer.submit({
          ...SequencerContract.depositOf("0", "open"),
          body: { type: "create_sub_account", root_address: contractRoot, index: 0 }
        })
        yield* deposit("before")
        yield* Effect.promise(() => worker()!.terminate())
        const { seq } = yield* deposit("after")
        yield* Effect.promise(() =>
          eventually(
            "the deposit's event, which those of later seconds follow",
            async () => seen.at(-1) ?? 0,
            (last) => last >= seq
          )
        )
        assert.deepStrictEqual(
          seen,
          Array.from(seen, (_, i) => i + 1)
        )
        assert.isAtLeast(losses, 1)
        for (const method of ["SubmitStream", "StreamEvents"])
          assert.isAtLeast(paths.filter((path) => path.endsWith(`/${method}`)).length, 2, method)
      }).pipe(Effect.provide(connected({ open: counted })))
    }).pipe(Effect.scoped, Effect.provide(quiet))
  )

  it.live("serves reads from a worker thread, also after the worker is restarted", () =>
    Effect.gen(function* () {
      const { directory } = yield* folder
      const { open, worker } = yield* embedded(directory)
      yield* Effect.gen(function* () {
        const sequencer = yield* Sequencer
        const before = yield* sequencer.head
        yield* Effect.promise(() => worker()!.terminate())
        const after = yield* Effect.retry(sequencer.head, { times: 200, schedule: Schedule.spaced("50 millis") })
        assert.strictEqual(after.epoch, before.epoch)
        assert.isAtLeast(after.head_seq, before.head_seq)
      }).pipe(Effect.provide(GrpcSequencer.layer({ open })))
    }).pipe(Effect.scoped, Effect.provide(quiet))
  )

  it.live("reports why it does not start", () =>
    Effect.gen(function* () {
      const { directory } = yield* folder
      const error = yield* Effect.flip(embedded(directory, { MARKETS_FILE: "/nowhere.json" }))
      assert.match(error.message, /MARKETS_FILE: cannot read/)
    }).pipe(Effect.scoped, Effect.provide(quiet))
  )
})

describe("settings of TLS", () => {
  it.effect.each([
    [["CA"], "BACKEND_TLS_CA requires BACKEND_TLS_CERT and BACKEND_TLS_KEY, which turn TLS on"],
    [["CERT"], "BACKEND_TLS_CERT and BACKEND_TLS_KEY must be set together"],
    [["CA", "KEY"], "BACKEND_TLS_CERT and BACKEND_TLS_KEY must be set together"]
  ] as const)("without a part of them, %s, are refused: the backend would serve without TLS", ([names, message]) =>
    Effect.gen(function* () {
      const files = Object.fromEntries(names.map((name) => [`BACKEND_TLS_${name}`, "/nowhere.pem"]))
      const wrong = yield* Effect.flip(Backend.serve(yield* settingsOf("elsewhere", files)))
      assert.strictEqual(wrong.message, message)
    }).pipe(Effect.scoped)
  )

  it.effect("that are no certificate are refused with their name, before the start", () =>
    Effect.gen(function* () {
      const files = { BACKEND_TLS_CERT: import.meta.filename, BACKEND_TLS_KEY: import.meta.filename }
      const wrong = yield* Effect.flip(Effect.flatMap(settingsOf("elsewhere", files), Backend.check))
      assert.strictEqual(wrong.message, "BACKEND_TLS_CERT: the file is no PEM certificate")
    })
  )

  it.effect("of a gateway alone, which has no certificate of its own, are valid", () =>
    Effect.flatMap(settingsOf("elsewhere", { BACKEND_TLS_CA: "/nowhere.pem" }), Backend.check)
  )
})

const hasOpenssl = spawnSync("openssl", ["version"]).status === 0

describe.skipIf(!hasOpenssl)("TLS", () => {
  it.live("is used when configured, and rejects a client without a certificate of the authority", () =>
    Effect.gen(function* () {
      const { directory } = yield* folder
      const pem = (name: string) => join(directory, name)
      const openssl = (...args: ReadonlyArray<string>) => spawnSync("openssl", [...args], { cwd: directory })
      const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-days", "2"]
      const made = openssl(
        "req",
        "-x509",
        ...key,
        "-keyout",
        "key.pem",
        "-out",
        "cert.pem",
        "-subj",
        "/CN=localhost",
        "-addext",
        "subjectAltName=DNS:localhost"
      )
      assert.strictEqual(made.status, 0, String(made.stderr))
      const { readFileSync } = yield* Effect.promise(() => import("node:fs"))
      const [cert, secretKey] = [readFileSync(pem("cert.pem")), readFileSync(pem("key.pem"))]
      const values = yield* settingsOf(directory, {
        BACKEND_TLS_CA: pem("cert.pem"),
        BACKEND_TLS_CERT: pem("cert.pem"),
        BACKEND_TLS_KEY: pem("key.pem")
      })
      const { port } = yield* Backend.serve(values)
      const headWith = (tls: { cert: Buffer | undefined; key: Buffer | undefined } | undefined) =>
        Effect.gen(function* () {
          return yield* (yield* Sequencer).head
        }).pipe(
          Effect.provide(
            GrpcSequencer.layer({
              address: `localhost:${port}`,
              secret: values.secret,
              tls: tls === undefined ? undefined : { ca: cert, ...tls }
            })
          )
        )
      assert.strictEqual((yield* headWith({ cert, key: secretKey })).head_seq >= 0, true)
      assert.strictEqual(
        (yield* Effect.flip(headWith({ cert: undefined, key: undefined })))._tag,
        "SequencerUnavailable"
      )
      assert.strictEqual((yield* Effect.flip(headWith(undefined)))._tag, "SequencerUnavailable")
    }).pipe(Effect.scoped, Effect.provide(quiet))
  )
})
