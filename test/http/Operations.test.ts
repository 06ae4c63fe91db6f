/** What holds of every operation: its document, its examples, and that it answers only what it declares. */
import { Context, Effect, Result, Schema } from "effect"
import type { HttpApiEndpoint } from "effect/http-api"
import { afterAll, assert, describe, it } from "vitest"
import { isCurrent } from "../../scripts/generate-openapi.ts"

import { AdminAccess, BearerOnly, BearerOrApiKey, PublicAccess, RequiredScope } from "../../src/http/api/Security.ts"
import { CodeExists } from "../../src/services/identity/AccessCodes.ts"
import { AccountsUnavailable } from "../../src/services/identity/Accounts.ts"
import { HistoryUnavailable } from "../../src/services/History.ts"
import { RefereeFault, RefereeUnavailable } from "../../src/services/Referee.ts"
import { DomainError } from "../../src/services/DomainError.ts"
import { CommandRefused, OutcomeUnknown, SequencerFault, SequencerUnavailable } from "../../src/services/Sequencer.ts"
import { AuthUnavailable } from "../../src/services/identity/AuthErrors.ts"
import type { Reason } from "../../src/domain/Reason.ts"
import { asked, document, type Json, operations } from "./Asked.ts"
import { type Doubles, gateway, rate, well } from "./Fixture.ts"

const kinds = { BearerOrApiKey, BearerOnly, AdminAccess, PublicAccess } as const
const kindOf = (endpoint: HttpApiEndpoint.Top) =>
  Object.entries(kinds).find(([, tag]) => endpoint.middlewares.has(tag as never))?.[0] ?? "open"

describe("the document", () => {
  it("is committed as it is derived", () => assert.isTrue(isCurrent(), "run npm run generate"))
  it("is OpenAPI 3.1 of version 0.1.1, every reference sound, every name used once", () => {
    assert.strictEqual(document.openapi, "3.1.0")
    assert.strictEqual(document.info.version, "0.1.1")
    const refs = JSON.stringify(document).matchAll(/"\$ref":"#\/components\/schemas\/([^"]+)"/gu)
    for (const [, name] of refs) assert.property(document.components.schemas, name!)
    for (const name of Object.keys(document.components.schemas as Json)) assert.notMatch(name, /_\d+$|Encoded$/u)
    const ids = operations.map(({ id }) => id)
    assert.strictEqual(new Set(ids).size, ids.length)
  })
  for (const { id, op, endpoint } of operations) {
    it(`describes all of ${id}`, () => {
      assert.match(id, /^[a-z][A-Za-z]+$/u)
      assert.isNotEmpty(op.summary)
      assert.isNotEmpty(op.description)
      const statuses = Object.keys(op.responses as Json)
      const kind = kindOf(endpoint)
      const standing = { open: [], PublicAccess: ["429"], AdminAccess: ["401", "429", "503"] }[kind as "open"] ?? [
        "401",
        "403",
        "429",
        "503"
      ]
      for (const status of ["400", "500", ...standing]) assert.include(statuses, status)
      if (op.requestBody !== undefined) assert.includeMembers(statuses, ["413", "415"])
      const schemes = (op.security as ReadonlyArray<object>).map((requirement) => Object.keys(requirement)[0])
      const expected = { open: [], PublicAccess: [], AdminAccess: ["basic"], BearerOnly: ["bearer"] }[kind as "open"]
      assert.deepStrictEqual(schemes, expected ?? ["bearer", "api_key"])
      assert.strictEqual(Context.get(endpoint.annotations, RequiredScope) !== undefined, kind === "BearerOrApiKey")
    })
    it(`shows sound examples of ${id}`, () => {
      const success = [...endpoint.success][0]!
      const status = Object.keys(op.responses as Json).find((key) => key.startsWith("2"))!
      const response = op.responses[status].content["application/json"].example
      const decoded = Schema.decodeUnknownResult(success as Schema.Codec<unknown>)(response)
      assert.isTrue(Result.isSuccess(decoded), JSON.stringify(response))
      const request = op.requestBody?.content["application/json"].example
      if (request === undefined) return
      for (const { schemas } of endpoint.payload.values()) {
        const read = Schema.decodeUnknownResult(schemas[0] as Schema.Codec<unknown>)(request)
        assert.isTrue(Result.isSuccess(read), JSON.stringify(request))
      }
    })
  }
})

const fail =
  <E>(error: E) =>
  () =>
    Effect.fail(error)
const refusedBy = (reason: Reason): Doubles => ({
  sequencer: { submit: fail(new CommandRefused({ reason, message: "", details: {} })) }
})
const lost = new HistoryUnavailable({})
const lostStore = new AccountsUnavailable({})
const unhealthy = () => ({ ...well, unhealthy: true, connected: false, age_ms: 120_000, unhealthy_for_ms: 120_000 })

/** Everything that can go wrong below the surface. */
const troubles: Record<string, Doubles> = {
  nothing: {},
  "a lost sequencer": { sequencer: { submit: fail(new SequencerUnavailable({})) } },
  "an unknown outcome": { sequencer: { submit: fail(new OutcomeUnknown()) } },
  "a faulty sequencer": { sequencer: { submit: fail(new SequencerFault({})) } },
  "a lost referee": {
    referee: {
      account: fail(new RefereeUnavailable({})),
      positions: fail(new RefereeUnavailable({})),
      portfolio: fail(new RefereeUnavailable({}))
    }
  },
  "a faulty referee": {
    referee: {
      account: fail(new RefereeFault({})),
      positions: fail(new RefereeFault({})),
      portfolio: fail(new RefereeFault({}))
    }
  },
  "unhealthy backends": { health: { sequencer: unhealthy, referee: unhealthy } },
  "a lost history": {
    history: {
      orders: fail(lost),
      executions: fail(lost),
      movements: fail(lost),
      subAccounts: fail(lost),
      candles: fail(lost),
      lastRecords: fail(lost)
    }
  },
  "lost accounts": {
    accounts: {
      user: fail(new AccountsUnavailable({})),
      isWhitelisted: fail(new AccountsUnavailable({})),
      labels: fail(new AccountsUnavailable({}))
    },
    accessCodes: {
      create: fail(new AccountsUnavailable({})),
      list: fail(new AccountsUnavailable({})),
      get: fail(new AccountsUnavailable({}))
    },
    activation: { activate: fail(new AccountsUnavailable({})) },
    switches: { of: fail(new AccountsUnavailable({})), set: fail(new AccountsUnavailable({})) },
    apiKeys: { list: fail(new AccountsUnavailable({})), create: fail(new AccountsUnavailable({})) },
    authenticator: { login: fail(new AuthUnavailable({})), logout: fail(new AuthUnavailable({})) }
  },
  "lost stores of users": {
    competitions: { get: fail(lostStore), list: fail(lostStore), create: fail(lostStore), tally: fail(lostStore) },
    referrals: { referrer: fail(lostStore), refer: fail(lostStore) },
    rewards: { get: fail(lostStore), list: fail(lostStore) }
  },
  "nothing to be found": { competitions: { get: () => Effect.undefined }, rewards: { get: () => Effect.undefined } },
  "a full bucket": { limiter: { take: () => Effect.succeed(rate(false)) } },
  "a closed launch": { accessMode: "closed" },
  "no access module": { accessMode: "off" },
  "access codes that are there, or not": {
    accessCodes: { create: fail(new CodeExists({ index: 0 })), get: () => Effect.undefined }
  },
  ...Object.fromEntries(
    (["InvalidCode", "CodeAlreadyUsed", "WalletAlreadyActivated", "NonceReused", "InvalidSignature"] as const).map(
      (reason) => [`an activation that ends in ${reason}`, { activation: { activate: fail(new DomainError(reason)) } }]
    )
  ),
  "no markets": { markets: { instrument: () => undefined } },
  "no embedded backend, no faucet": { embedded: false, faucet: false },
  ...Object.fromEntries(
    (
      [
        "SymbolNotFound",
        "SubAccountNotFound",
        "SubAccountFrozen",
        "OrderNotFound",
        "OrderAlreadyClosed",
        "OrderVersionMismatch",
        "DuplicateOrderLinkId",
        "DuplicateRequestId",
        "LeverageUnchanged",
        "NotIsolated",
        "OpenOrdersExist",
        "PositionExists",
        "PositionNotFound",
        "PositionInLiquidation",
        "InsufficientBalance",
        "LimitReached",
        "FaucetLimit",
        "OutOfRange",
        "NotEmpty",
        "OpenOrdersExist",
        "PositionExists"
      ] as const
    ).map((reason) => [`a sequencer that says ${reason}`, refusedBy(reason)])
  )
}
/** Reasons that only some commands can meet: the others never see them. */
const commands: Record<string, RegExp> = {
  SubAccountFrozen: /createOrder|amendOrder/u,
  OrderNotFound: /amendOrder|cancelOrder/u,
  OrderAlreadyClosed: /amendOrder|cancelOrder/u,
  OrderVersionMismatch: /amendOrder/u,
  DuplicateOrderLinkId: /createOrder/u,
  DuplicateRequestId: /transferFunds|withdrawFunds|claimReward/u,
  LeverageUnchanged: /setLeverage/u,
  NotIsolated: /addMargin/u,
  NotEmpty: /deleteSubAccount/u,
  OpenOrdersExist: /switchMarginMode|deleteSubAccount/u,
  PositionExists: /switchMarginMode|deleteSubAccount/u,
  PositionInLiquidation: /setLeverage/u,
  PositionNotFound: /addMargin|setTradingStop/u,
  SubAccountNotFound: /Order|everage|argin|TradingStop|askFaucet|Funds|(?:change|delete)SubAccount|claimReward/u,
  SymbolNotFound: /Order|everage|argin|TradingStop|setIndexPrice/u
}

describe("an answer", () => {
  for (const [name, doubles] of Object.entries(troubles)) {
    const reason = /says (\w+)$/u.exec(name)?.[1]
    const concerned = reason === undefined ? undefined : commands[reason]
    it(`is one the operation declares, with ${name}`, async () => {
      const { fetch, dispose } = gateway(doubles)
      for (const operation of operations) {
        if (concerned !== undefined && !concerned.test(operation.id)) continue
        const { method, target, ask } = asked(operation)
        const response = await fetch(method, target, ask)
        const body: Json = await response.json()
        const where = `${operation.id}: ${response.status} ${JSON.stringify(body)}`
        assert.property(operation.op.responses, String(response.status), where)
        if (name === "nothing") assert.isBelow(response.status, 300, where)
        if (response.status >= 400 && operation.id !== "getReadiness") {
          assert.isString(body.code, where)
          assert.isString(body.message, where)
          assert.strictEqual(body.request_id, response.headers.get("x-request-id"))
          if (response.status === 503) assert.strictEqual(response.headers.get("retry-after"), "1")
        }
      }
      await dispose()
    })
  }
  const strangers = gateway()
  afterAll(strangers.dispose)
  it("requires credentials of an anonymous caller wherever they are needed", async () => {
    for (const operation of operations) {
      const { method, target, ask } = asked(operation)
      const { status } = await strangers.fetch(method, target, { ...ask, authorization: null })
      const open = kindOf(operation.endpoint) === "PublicAccess" || kindOf(operation.endpoint) === "open"
      assert.strictEqual(status === 401, !open, operation.id)
    }
  })
  it("refuses API keys without the scope", async () => {
    for (const { endpoint, id } of operations) {
      if (kindOf(endpoint) !== "BearerOrApiKey") continue
      const scope = Context.get(endpoint.annotations, RequiredScope)
      const expected = id.startsWith("get")
        ? "read"
        : /Order|TradingStop|Disconnect/u.test(id)
          ? "trade"
          : id === "transferFunds"
            ? "transfer"
            : /ithdraw/u.test(id)
              ? "withdraw"
              : "account"
      assert.strictEqual(scope, expected, id)
    }
  })
})
