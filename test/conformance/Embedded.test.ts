/** The embedded backend conforms. A proxy that alters its responses fails the case that checks them. */
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { cases } from "../../conformance/Suite.ts"
import {
  type CommandAck,
  type CommandResult,
  type Event,
  OrderCause,
  type StreamEventsResponse,
  type SubmitStreamResponse
} from "../../src/proto/gateway/v1/sequencer.ts"
import { BalanceReason } from "../../src/proto/gateway/v1/types.ts"
import { type Lie, start } from "../doubles/LyingBackend.ts"
import { failures, startEmbedded } from "./Run.ts"

/** How long a backend that stays silent is waited for, in ms: the wait is the failure that is looked for. */
const SILENCE_MS = 10_000

const named = (...names: ReadonlyArray<string>) => cases.filter(({ name }) => names.includes(name))

/** Changes each event. */
const events =
  (change: (event: Event) => Event) =>
  (frame: StreamEventsResponse): ReadonlyArray<StreamEventsResponse> => [{ ...frame, events: frame.events.map(change) }]
/** Changes the acknowledgements. */
const acks =
  (change: (ack: CommandAck) => Partial<CommandAck>) =>
  ({ results }: SubmitStreamResponse): ReadonlyArray<SubmitStreamResponse> => [
    {
      results: results.map(({ outcome }) => ({
        outcome:
          outcome?.$case === "ack" ? { ...outcome, value: { ...outcome.value, ...change(outcome.value) } } : outcome
      }))
    }
  ]
const isFill = ({ event }: Event) => event?.$case === "execution_created" && event.value.execution?.is_maker === true

/** The outcome with the place of another one, where both are acknowledgements. */
const withPlaceOf = ({ outcome }: CommandResult, other: CommandResult | undefined): CommandResult["outcome"] =>
  outcome?.$case === "ack" && other?.outcome?.$case === "ack"
    ? { ...outcome, value: { ...outcome.value, seq: other.outcome.value.seq } }
    : outcome

/** Moves the time of every event by as many ms as the stream was taken up. */
const retelling = (): Lie => {
  let subscriptions = 0
  return {
    subscription: (request) => {
      subscriptions++
      return request
    },
    frame: events((event) => ({ ...event, ts_ms: event.ts_ms + subscriptions }))
  }
}

/** A deviation from the contract, and the failure that it must cause. */
interface Deviation {
  readonly lie: Lie
  /** The cases that are run; the first one must fail, with this message. */
  readonly cases: ReadonlyArray<string>
  readonly message: RegExp
}

const lies: Readonly<Record<string, Deviation>> = {
  "sends two events in the wrong order": {
    lie: { frame: (frame) => [{ ...frame, events: frame.events.toReversed() }] },
    cases: ["events-in-order", "fill"],
    message: /^event \d+ \(\w+\) followed event \d+; expected \d+$/u
  },
  "leaves an event out": {
    lie: { frame: (frame) => [{ ...frame, events: frame.events.filter((event) => !isFill(event)) }] },
    cases: ["events-in-order", "fill"],
    message: /^event \d+ \(order_changed\) followed event \d+; expected \d+$/u
  },
  "sends an event twice": {
    lie: { frame: (frame) => [{ ...frame, events: frame.events.flatMap((event) => [event, event]) }] },
    cases: ["events-in-order", "head"],
    message: /^event (\d+) \(\w+\) followed event \1;/u
  },
  "acknowledges twice": {
    lie: { answer: (answer) => [answer, answer] },
    cases: ["one-answer"],
    message: /^command [0-9a-f-]+ was sent 1 times and got 2 results$/u
  },
  "loses a fill without leaving a gap": {
    lie: {
      frame: events((event) =>
        isFill(event) ? { ...event, event: { $case: "instrument_changed", value: { instrument: undefined } } } : event
      )
    },
    cases: ["fills", "fill"],
    message:
      /^event \d+ \(order_changed\): filled quantity, value and fee of order [0-9a-f-]+, by its executions: expected \["0"/u
  },
  "cuts a step in two": {
    lie: {
      frame: ({ events, ...frame }) =>
        events.length < 2
          ? [{ ...frame, events }]
          : [
              { ...frame, events: events.slice(0, 1), heartbeat: undefined },
              { ...frame, events: events.slice(1) }
            ]
    },
    cases: ["whole-steps", "fill"],
    message: /goes on with step \d+, which the frame before it began$/u
  },
  "names another seq than that of the last event": {
    lie: { answer: acks(({ seq }) => ({ seq: seq - 1 })) },
    cases: ["ack"],
    message: /^the seq of the ack: expected \d+, got \d+$/u
  },
  "refuses an amend for another reason than its event has": {
    lie: {
      answer: acks(({ refusal }) => (refusal === undefined ? {} : { refusal: { ...refusal, reason: "InvalidQty" } }))
    },
    cases: ["amend-refused"],
    message: /^the refusal of the acknowledgement \(code, reason\): expected .*PostOnlyWouldTake.*, got .*InvalidQty/u
  },
  "amends what its event says it refused": {
    lie: {
      frame: events((event) =>
        event.event?.$case === "order_changed" && event.event.value.cause === OrderCause.ORDER_CAUSE_AMEND_REFUSED
          ? {
              ...event,
              event: { ...event.event, value: { ...event.event.value, cause: OrderCause.ORDER_CAUSE_AMENDED } }
            }
          : event
      )
    },
    cases: ["amend-refused"],
    message: /^the event \(cause, status, price, version, reject_reason\) and more of the order: expected /u
  },
  "does not know a command again": {
    lie: { answer: acks(() => ({ duplicate: false })) },
    cases: ["repetition"],
    message: /^the answer to the repetition: expected .*"duplicate":true.*, got .*"duplicate":false/u
  },
  "has no clock on its command stream": {
    lie: { answer: ({ results }) => [{ results }] },
    cases: ["time-limit"],
    message: /^clock_ms of a response with results is missing/u
  },
  "takes up any epoch": {
    lie: { subscription: (request) => ({ ...request, epoch: "" }) },
    cases: ["other-epoch"],
    message: /^the answer: expected "FAILED_PRECONDITION", got "a frame"$/u
  },
  "sends a wallet that does not add up": {
    lie: {
      frame: events((event) =>
        event.event?.$case === "balance_changed" && event.event.value.reason === BalanceReason.BALANCE_REASON_TRADE
          ? { ...event, event: { ...event.event, value: { ...event.event.value, amount: "1" } } }
          : event
      )
    },
    cases: ["balances", "fill"],
    message: /^event \d+ \(balance_changed\): the wallet went from [\d.]+ to [\d.]+, the amount is 1$/u
  },
  "writes one number in two ways": {
    lie: {
      frame: events((event) =>
        event.event?.$case === "balance_changed"
          ? { ...event, event: { ...event.event, value: { ...event.event.value, fee: "0.0" } } }
          : event
      )
    },
    cases: ["decimals", "deposit"],
    message: /^event \d+ holds the number "0\.0"$|^event \d+ \(balance_changed\) holds the number "0\.0"$/u
  },
  "counts the changes of its book in twos": {
    lie: {
      frame: events((event) =>
        event.event?.$case === "book_changed"
          ? {
              ...event,
              event: { ...event.event, value: { ...event.event.value, book_seq: event.event.value.book_seq * 2 } }
            }
          : event
      )
    },
    cases: ["book-changes", "fill"],
    message: /^event \d+ \(book_changed\): book_seq \d+ came after \d+$/u
  },
  "lets an order go where no row leads": {
    lie: {
      frame: events((event) =>
        event.event?.$case === "order_changed"
          ? {
              ...event,
              event: { ...event.event, value: { ...event.event.value, cause: OrderCause.ORDER_CAUSE_EXPIRED } }
            }
          : event
      )
    },
    cases: ["statuses", "fill"],
    message: /^event \d+ \(order_changed\): order [0-9a-f-]+ cannot go from nothing to NEW as EXPIRED$/u
  },
  "sends a returning follower different events": {
    lie: retelling(),
    cases: ["resume"],
    message: /^event \d+ differs from its first delivery$/u
  },
  "gives places in another order": {
    lie: {
      answer: ({ results }) => [
        { results: results.map((result, i) => ({ outcome: withPlaceOf(result, results.at(-1 - i)) })) }
      ]
    },
    cases: ["in-flight"],
    message: /^command [0-9a-f-]+ has place \d+; the one sent before it has \d+$/u
  },
  "refuses without a reason": {
    lie: {
      answer: ({ results }) => [
        {
          results: results.map(({ outcome }) => ({
            outcome: outcome?.$case === "status" ? { ...outcome, value: { ...outcome.value, reason: "" } } : outcome
          }))
        }
      ]
    },
    cases: ["refusals"],
    message: /^the refusal of cancel_order: expected \["NOT_FOUND","SymbolNotFound"\], got \["NOT_FOUND",""\]$/u
  },
  "answers a book of before": {
    lie: { book: (book) => ({ ...book, bids: [], asks: [] }) },
    cases: ["resting-order"],
    message: /^GetOrderBook: expected \[\[\{"price":/u
  }
}

/** Messages that a backend omits. */
const silences: Readonly<Record<string, Deviation>> = {
  "loses an answer": {
    lie: { answer: ({ results }) => [{ results: results.length > 1 ? results.slice(1) : results }] },
    cases: ["in-flight"],
    message: /^\d+ commands got no answer within 10000 ms: deposit_funds /u
  },
  "sends no heartbeats": {
    lie: { frame: (frame) => (frame.heartbeat === undefined ? [frame] : []) },
    cases: ["heartbeat"],
    message: /^2 heartbeats did not arrive within 10000 ms$/u
  }
}

const expose = async (address: string, { cases, lie, message }: Deviation, patience_ms?: number) => {
  const liar = await start(address, lie)
  try {
    const found = await failures(liar.address, named(...cases), patience_ms)
    assert.match(found[cases[0]!] ?? "it passed", message, JSON.stringify(found))
  } finally {
    liar.stop()
  }
}

/** Runs the slow deviations concurrently with the other tests, on a backend of their own. */
const exposeSilences = async () => {
  const { address, stop } = await startEmbedded()
  try {
    return await Promise.allSettled(Object.values(silences).map((deviation) => expose(address, deviation, SILENCE_MS)))
  } finally {
    await stop()
  }
}

describe("conformance", () => {
  let embedded: Awaited<ReturnType<typeof startEmbedded>>
  let exposed: ReturnType<typeof exposeSilences>
  beforeAll(async () => {
    exposed = exposeSilences()
    embedded = await startEmbedded()
  })
  afterAll(() => embedded?.stop())

  it("finds nothing wrong with the embedded backend", async () => {
    assert.deepStrictEqual(await failures(embedded.address), {})
  }, 120_000)

  it("finds nothing wrong through a proxy that changes nothing", async () => {
    const proxy = await start(embedded.address, {})
    try {
      const deviations = [...Object.values(lies), ...Object.values(silences)]
      const run = named(...new Set(deviations.flatMap(({ cases }) => cases)))
      assert.deepStrictEqual(await failures(proxy.address, run), {})
    } finally {
      proxy.stop()
    }
  }, 120_000)

  it.each(Object.entries(lies))(
    "detects a backend that %s",
    (_, deviation) => expose(embedded.address, deviation),
    120_000
  )

  it(`detects a backend that ${Object.keys(silences).join(", or ")}`, async () => {
    for (const outcome of await exposed) if (outcome.status === "rejected") throw outcome.reason
  }, 120_000)
})
