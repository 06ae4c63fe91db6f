/**
 * Outcomes of commands: counted by kind and outcome, timed, and traced as spans where a tracer is present. Commands share
 * one stream, so a span has no metadata to travel in; both sides correlate by `command_id`.
 */
import { Clock, Effect, Exit, type Fiber, Option } from "effect"
import { type Counter, CurrentMetricsRegistry } from "../../services/operations/MetricsRegistry.ts"
import type { Command, CommandAck, SubmitError } from "../../services/Sequencer.ts"
import * as Tracing from "../../services/operations/Tracing.ts"

type Result = Exit.Exit<CommandAck, SubmitError>

const OUTCOMES: { readonly [T in SubmitError["_tag"]]: string } = {
  CommandRefused: "refused",
  CredentialUnchecked: "unchecked",
  SequencerUnavailable: "unavailable",
  Overloaded: "overloaded",
  OutcomeUnknown: "unknown",
  SequencerFault: "fault"
}
const ACKNOWLEDGED = "acknowledged"

const outcomeOf = (result: Result): string => {
  if (Exit.isSuccess(result)) return result.value.refusal === undefined ? ACKNOWLEDGED : OUTCOMES.CommandRefused
  return Option.match(Exit.findErrorOption(result), {
    onNone: () => ACKNOWLEDGED,
    onSome: ({ _tag }) => OUTCOMES[_tag]
  })
}

/** Starts the measurement of a command of a fiber; the returned function records its outcome. */
export const make = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const meter = yield* CurrentMetricsRegistry
  const tracer = yield* Tracing.CurrentTracer
  const durations = meter.histogram("gateway_command_duration_seconds", {})
  const counters = new Map<string, Counter>()
  const count = (command: string, outcome: string): void => {
    const name = `${command} ${outcome}`
    let counter = counters.get(name)
    if (counter === undefined) {
      counter = meter.counter("gateway_commands_total", { command, outcome })
      counters.set(name, counter)
    }
    counter.add()
  }

  return (
    fiber: Fiber.Fiber<unknown, unknown>,
    { body: { type }, command_id }: Command
  ): ((result: Result) => void) => {
    const began = performance.now()
    const span =
      tracer &&
      Tracing.beginIn(fiber, tracer, "Sequencer.submit", "client", clock.currentTimeNanosUnsafe(), {
        command: type,
        command_id
      })
    return (result) => {
      const outcome = outcomeOf(result)
      count(type, outcome)
      durations.observe((performance.now() - began) / 1_000)
      if (span === undefined) return
      span.attribute("outcome", outcome)
      Tracing.end(span, clock.currentTimeNanosUnsafe(), outcome === ACKNOWLEDGED ? undefined : outcome)
    }
  }
})
