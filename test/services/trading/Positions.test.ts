import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import type { Caller } from "../../../src/domain/User.ts"
import { HistoryUnavailable } from "../../../src/services/History.ts"
import { Positions } from "../../../src/services/trading/Positions.ts"
import type { Command } from "../../../src/services/Sequencer.ts"
import { type Doubles, flat, policies, tokenCaller, v0, v1, well } from "../../http/Fixture.ts"

const named = { sub_account_address: v1, symbol: "BTC-USDC" }

/** A desk that keeps commands; each leaves the position isolated, at leverage 12.5. */
const desk = (more: Doubles = {}) => {
  const commands: Array<Command> = []
  const layer = policies({
    history: {
      lastRecords: () =>
        Effect.succeed([
          {
            user_id: tokenCaller.user_id,
            topic: "position",
            sub_account_address: v1,
            subject: "BTC-USDC",
            seq: 9,
            record: JSON.stringify({ ...flat, isolated_margin: "7", seq: 9 })
          }
        ])
    },
    ...more,
    sequencer: {
      submit: (command) => {
        commands.push(command)
        return Effect.succeed({
          seq: 1,
          accepted_at_ms: 1,
          orders: [],
          duplicate: false,
          version: undefined,
          result: { type: "position", position: { ...flat, leverage: "12.5", margin_mode: "Isolated" } }
        })
      }
    }
  })
  return { commands, layer }
}
const reasonOf = (failure: unknown) => {
  const { details, reason } = failure as { readonly reason: string; readonly details: Record<string, unknown> }
  return [reason, details["field"]]
}

describe("positions", () => {
  it.effect("submit leverage, mode and margin in canonical form, and return the result", () => {
    const { commands, layer } = desk()
    return Effect.gen(function* () {
      const positions = yield* Positions
      assert.strictEqual((yield* positions.setLeverage(tokenCaller, { ...named, leverage: "12.50" })).leverage, "12.5")
      yield* positions.switchMarginMode(tokenCaller, { ...named, margin_mode: "Isolated" })
      yield* positions.switchMarginMode(tokenCaller, { ...named, margin_mode: "Cross", leverage: "5.0" })
      // the record of the private topic, not that of the acknowledgement
      const { isolated_margin, seq } = yield* positions.addMargin(tokenCaller, { ...named, margin: "-1.50" })
      assert.deepStrictEqual([isolated_margin, seq], ["7", 9])
      assert.deepStrictEqual(
        commands.map(({ body }) => body),
        [
          { type: "set_leverage", symbol: "BTC-USDC", leverage: "12.5" },
          { type: "set_margin_mode", symbol: "BTC-USDC", margin_mode: "Isolated", leverage: undefined },
          { type: "set_margin_mode", symbol: "BTC-USDC", margin_mode: "Cross", leverage: "5" },
          { type: "add_margin", symbol: "BTC-USDC", margin: "-1.5" }
        ]
      )
      assert.strictEqual(new Set(commands.map(({ command_id }) => command_id)).size, 4)
    }).pipe(Effect.provide(layer))
  })

  it.effect("refuse a leverage that no position of the market can have", () => {
    const { commands, layer } = desk()
    return Effect.gen(function* () {
      const positions = yield* Positions
      const refused = (leverage: string) =>
        Effect.map(Effect.flip(positions.setLeverage(tokenCaller, { ...named, leverage })), reasonOf)
      for (const leverage of ["0", "0.99", "50.01", "1000"])
        assert.deepStrictEqual(yield* refused(leverage), ["OutOfRange", "leverage"])
      assert.deepStrictEqual(yield* refused("1.005"), ["NotMultipleOfStep", "leverage"])
      const detailsOf = (leverage: string) =>
        Effect.map(
          Effect.flip(positions.setLeverage(tokenCaller, { ...named, leverage })),
          (failure) => (failure as { readonly details: object }).details
        )
      assert.deepInclude(yield* detailsOf("51"), { field: "leverage", min: "1", max: "50" })
      assert.deepInclude(yield* detailsOf("1.005"), { field: "leverage", step: "0.01", nearest: ["1", "1.01"] })
      const mode = { ...named, margin_mode: "Cross", leverage: "51" } as const
      assert.deepStrictEqual(reasonOf(yield* Effect.flip(positions.switchMarginMode(tokenCaller, mode))), [
        "OutOfRange",
        "leverage"
      ])
      const none = yield* Effect.flip(positions.addMargin(tokenCaller, { ...named, margin: "0.0" }))
      assert.deepStrictEqual(reasonOf(none), ["OutOfRange", "margin"])
      assert.deepStrictEqual(commands, [])
      yield* positions.setLeverage(tokenCaller, { ...named, leverage: "50" })
      yield* positions.setLeverage(tokenCaller, { ...named, leverage: "1" })
    }).pipe(Effect.provide(layer))
  })

  it.effect("take exits on the grid, remove them by 0, and size only partial ones", () => {
    const { commands, layer } = desk()
    return Effect.gen(function* () {
      const positions = yield* Positions
      const stop = (more: object) => positions.tradingStop(tokenCaller, { ...named, ...more })
      const refused = (more: object) => Effect.map(Effect.flip(stop(more)), reasonOf)
      assert.deepStrictEqual(yield* refused({}), ["MissingField", "take_profit"])
      assert.deepStrictEqual(yield* refused({ take_profit: "62000.05" }), ["NotMultipleOfTick", "take_profit"])
      assert.deepStrictEqual(yield* refused({ stop_loss: "59000.05" }), ["NotMultipleOfTick", "stop_loss"])
      assert.deepStrictEqual(yield* refused({ take_profit: "62000", tp_size: "0.1" }), ["InvalidField", "tp_size"])
      assert.deepStrictEqual(yield* refused({ stop_loss: "59000", sl_size: "0.1" }), ["InvalidField", "sl_size"])
      const partial = { stop_loss: "59000", tpsl_mode: "Partial" }
      assert.deepStrictEqual(yield* refused({ ...partial, sl_size: "0.0001" }), ["NotMultipleOfStep", "sl_size"])
      assert.deepStrictEqual(yield* refused({ ...partial, sl_size: "0" }), ["OutOfRange", "sl_size"])
      assert.deepStrictEqual(yield* refused({ ...partial, sl_size: "100.001" }), ["OutOfRange", "sl_size"])
      // each belongs to an exit that the request does not set
      for (const part of [{ tp_size: "0.1" }, { tp_trigger_by: "MarkPrice" }])
        assert.deepStrictEqual(yield* refused({ ...partial, ...part }), ["InvalidField", Object.keys(part)[0]])
      for (const part of [{ sl_size: "0.1" }, { sl_trigger_by: "MarkPrice" }])
        assert.deepStrictEqual(yield* refused({ take_profit: "62000", tpsl_mode: "Partial", ...part }), [
          "InvalidField",
          Object.keys(part)[0]
        ])
      assert.deepStrictEqual(commands, [])
      yield* stop({ take_profit: "62000", stop_loss: "0", tp_trigger_by: "MarkPrice" })
      yield* stop({ ...partial, sl_size: "0.1" })
      assert.deepStrictEqual(
        commands.map(({ body }) => body),
        [
          {
            type: "set_trading_stop",
            symbol: "BTC-USDC",
            tpsl: {
              mode: "Full",
              take_profit: { trigger_price: "62000", trigger_by: "MarkPrice" },
              stop_loss: { trigger_price: "0", trigger_by: "LastPrice" }
            },
            take_profit_size: undefined,
            stop_loss_size: undefined
          },
          {
            type: "set_trading_stop",
            symbol: "BTC-USDC",
            tpsl: {
              mode: "Partial",
              take_profit: undefined,
              stop_loss: { trigger_price: "59000", trigger_by: "LastPrice" }
            },
            take_profit_size: undefined,
            stop_loss_size: "0.1"
          }
        ]
      )
      // the limit of a limit order: a market order may have 30 at most
      yield* stop({ ...partial, sl_size: "100" })
    }).pipe(Effect.provide(layer))
  })

  it.effect("take a trigger price and a size for each of two exits", () => {
    const { commands, layer } = desk()
    return Effect.gen(function* () {
      const positions = yield* Positions
      yield* positions.tradingStop(tokenCaller, {
        ...named,
        tpsl_mode: "Partial",
        take_profit: "62000",
        tp_trigger_by: "MarkPrice",
        tp_size: "0.2",
        stop_loss: "59000",
        sl_trigger_by: "IndexPrice",
        sl_size: "0.1"
      })
      assert.deepInclude(commands[0]?.body, {
        tpsl: {
          mode: "Partial",
          take_profit: { trigger_price: "62000", trigger_by: "MarkPrice" },
          stop_loss: { trigger_price: "59000", trigger_by: "IndexPrice" }
        },
        take_profit_size: "0.2",
        stop_loss_size: "0.1"
      })
    }).pipe(Effect.provide(layer))
  })

  it.effect("belong to the sub-accounts that the credential sees, in markets that exist, of a well sequencer", () => {
    const { commands, layer } = desk({ health: { sequencer: () => ({ ...well, unhealthy: true, lag_ms: 9 }) } })
    const bound: Caller = { ...tokenCaller, bound_to: new Set([v0]) }
    return Effect.gen(function* () {
      const positions = yield* Positions
      const refused = (caller: Caller, symbol: string) =>
        Effect.map(
          Effect.flip(positions.setLeverage(caller, { ...named, symbol, leverage: "2" })),
          (failure) => reasonOf(failure)[0]
        )
      assert.strictEqual(yield* refused(bound, "BTC-USDC"), "SubAccountNotFound")
      assert.strictEqual(yield* refused(tokenCaller, "NO-USDC"), "SymbolNotFound")
      assert.strictEqual(yield* refused(tokenCaller, "BTC-USDC"), "BackendLagging")
      assert.deepStrictEqual(commands, [])
    }).pipe(Effect.provide(layer))
  })

  for (const [name, lastRecords] of [
    ["is late", Effect.succeed([])],
    ["cannot be read", Effect.fail(new HistoryUnavailable({ cause: "the disk is gone" }))]
  ] as const)
    it.effect(`return the state of a position whose margin has changed, where its record ${name}`, () => {
      const { commands, layer } = desk({ history: { lastRecords: () => lastRecords } })
      return Effect.gen(function* () {
        const positions = yield* Positions
        const added = yield* Effect.forkChild(positions.addMargin(tokenCaller, { ...named, margin: "1" }))
        yield* TestClock.adjust("1 second")
        assert.deepInclude(yield* Fiber.join(added), { leverage: "12.5", margin_mode: "Isolated", seq: 0 })
        assert.lengthOf(commands, 1)
      }).pipe(Effect.provide(layer))
    })
})
