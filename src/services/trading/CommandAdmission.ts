/**
 * Policy: admission of commands. A command is in flight from its hand-over to the sequencer until this gateway shows
 * its events, at most {@link EVENTS_MS_MAX} after its acknowledgement, or until it is refused.
 *
 * The limit follows the measured delay ({@link AdaptiveLimit}). Commands beyond it wait for a slot, for a bounded
 * time, in a queue that serves users in turn ({@link FairQueue}). Commands beyond the queue are refused at once as
 * {@link Overloaded}: they are certainly not sequenced. Cancels take a slot without waiting and are never refused
 * here.
 * Source: docs/contract/boundary.md#lagging, #overload; docs/decisions/0014.
 */
import { Clock, Context, Effect, Exit, Latch, Layer } from "effect"
import { type ModelPosition, streamIdOf } from "../../domain/Projection.ts"
import { AdaptiveLimit, type AdaptiveLimitOptions } from "./AdaptiveLimit.ts"
import { FairQueue, type Queued } from "./FairQueue.ts"
import * as Daemon from "../operations/Daemon.ts"
import { CurrentMetricsRegistry } from "../operations/MetricsRegistry.ts"
import { Projector } from "../read-model/Projector.ts"
import {
  type Command,
  type CommandAck,
  type CommandBody,
  EVENTS_MS_MAX,
  type Overloaded,
  overloaded,
  Sequencer,
  type SubmitError
} from "../Sequencer.ts"

/** Commands that wait for a slot, over all users. */
export const WAITING_MAX = 4_096
/** Age of a user's oldest queued command from which further ones are refused, and the longest wait, in ms. */
export const AGE_MS_MAX = 1_500
export const WAIT_MS_MAX = 2_000
/** How often expired waits are removed, in ms. */
const WAIT_STEP_MS = 50

/**
 * The target is the time until a private stream has the events of a command, for which a list waits that its sender reads.
 * Commands beyond the limit wait before they are sent, where they delay no reads. With half of the minimum, turns of
 * the event loop have too few commands to share their cost.
 */
export const limits: AdaptiveLimitOptions = { initial: 128, min: 64, max: 2_048, target_ms: 30 }

const cancels: ReadonlySet<CommandBody["type"]> = new Set(["cancel", "cancel_all"])

/** A command that has a slot, or waits for one. */
interface Slot {
  state: "waiting" | "in-flight" | "over"
  admitted_ms: number
  queued: Queued<Slot> | undefined
  /** Resumes the waiting fiber. */
  resume: ((go: Effect.Effect<void, Overloaded>) => void) | undefined
}

/** An acknowledged command whose last event is not shown yet. */
interface Unshown {
  readonly seq: number
  readonly slot: Slot
  readonly acknowledged_ms: number
}

const admitted: Effect.Effect<void> = Effect.void
const refused: Effect.Effect<never, Overloaded> = Effect.fail(overloaded)

export class CommandAdmission extends Context.Service<
  CommandAdmission,
  {
    /** Whether commands wait for slots, so that some may be refused. */
    readonly isBusy: () => boolean
    /**
     * Whether any command except a cancel is certainly refused, so that it need not be parsed; counted as a refusal.
     * `user_id` undefined: the sender is unknown.
     */
    readonly refusesNow: (user_id: string | undefined) => boolean
    /** Runs the submission of a command in a slot. */
    readonly within: (
      command: Command,
      submit: Effect.Effect<CommandAck, SubmitError>
    ) => Effect.Effect<CommandAck, SubmitError>
  }
>()("gateway/services/CommandAdmission") {
  static readonly layer = (
    options: { readonly limits?: AdaptiveLimitOptions; readonly waiting_max?: number } = {}
  ): Layer.Layer<CommandAdmission, never, Projector> => Layer.effect(CommandAdmission, make(options))
}

const make = Effect.fnUntraced(function* (options: {
  readonly limits?: AdaptiveLimitOptions
  readonly waiting_max?: number
}) {
  const projector = yield* Projector
  const clock = yield* Clock.Clock
  const metrics = yield* CurrentMetricsRegistry
  const limit = new AdaptiveLimit(options.limits ?? limits)
  const queue = new FairQueue<Slot>(options.waiting_max ?? WAITING_MAX, AGE_MS_MAX)
  const now = () => Number(clock.monotonicTimeNanosUnsafe()) / 1_000_000
  /** Open while commands wait. */
  const queued = Latch.makeUnsafe(false)
  const refusals = metrics.counter("gateway_command_refusals_total", {})
  const delays = metrics.histogram("gateway_command_shown_seconds", {})
  let inFlight = 0
  /** Ordered by seq, because acknowledgements are. */
  let unshown: Array<Unshown> = []
  let firstUnshown = 0
  let position: ModelPosition | undefined = projector.position()
  metrics.gauge("gateway_commands_limit", {}, () => limit.value)
  metrics.gauge("gateway_commands_in_flight", {}, () => inFlight)
  metrics.gauge("gateway_commands_waiting", {}, () => queue.size)

  const start = (slot: Slot): void => {
    inFlight++
    slot.state = "in-flight"
    slot.admitted_ms = now()
  }
  let isServing = false
  /** Assigns free slots to queued commands. */
  const serve = (): void => {
    // a command that ends at once frees its slot within the loop, which goes on: thousands may wait
    if (isServing) return
    isServing = true
    while (queue.size > 0 && inFlight < limit.value) {
      const slot = queue.shift()!
      start(slot)
      slot.resume?.(admitted)
    }
    isServing = false
    if (queue.size > 0) limit.reached()
  }
  const release = (slot: Slot): void => {
    if (slot.state === "waiting") queue.remove(slot.queued!)
    else if (slot.state === "in-flight") inFlight--
    slot.state = "over"
  }
  const end = (slot: Slot): void => {
    release(slot)
    serve()
  }

  /** The events of a command are visible: its delay moves the limit. */
  const shown = (slot: Slot, at: number): void => {
    const delay_ms = at - slot.admitted_ms
    limit.observe(at, delay_ms)
    delays.observe(delay_ms / 1_000)
    release(slot)
  }
  /** The command completed; an acknowledged one keeps its slot until it is shown, which often precedes the acknowledgement. */
  const answered = (slot: Slot, exit: Exit.Exit<CommandAck, SubmitError>): void => {
    if (Exit.isFailure(exit) || exit.value.duplicate) return end(slot)
    const { seq } = exit.value
    const at = now()
    if ((position?.seq ?? 0) < seq) return void unshown.push({ seq, slot, acknowledged_ms: at })
    shown(slot, at)
    serve()
  }
  const moved = (to: ModelPosition): void => {
    // after a restart of the numbering, the events of older commands never arrive
    const isRestarted = position !== undefined && streamIdOf(position) !== streamIdOf(to)
    position = to
    const at = now()
    const through = isRestarted ? Infinity : to.seq
    while (firstUnshown < unshown.length && unshown[firstUnshown]!.seq <= through) {
      shown(unshown[firstUnshown++]!.slot, at)
    }
    if (firstUnshown === unshown.length) unshown = []
    else if (firstUnshown > 4_096) unshown = unshown.slice(firstUnshown)
    else return serve()
    firstUnshown = 0
    serve()
  }
  yield* Effect.acquireRelease(
    Effect.sync(() => projector.onMoved(moved)),
    (leave) => Effect.sync(leave)
  )
  /** Frees the slots of acknowledged commands whose events do not arrive. */
  const giveUp = Effect.suspend(() => {
    const last_ms = now() - EVENTS_MS_MAX
    const late = unshown.slice(firstUnshown).filter(({ acknowledged_ms }) => acknowledged_ms < last_ms)
    if (late.length === 0) return Effect.void
    firstUnshown += late.length
    for (const { slot } of late) release(slot)
    serve()
    return Effect.logWarning("events of acknowledged commands are missing").pipe(
      Effect.annotateLogs({ commands: late.length, seq: late[0]!.seq, shown_seq: position?.seq ?? 0 })
    )
  })
  const refuseExpired = Effect.sync(() => {
    for (const slot of queue.expired(now() - WAIT_MS_MAX)) {
      slot.state = "over"
      refusals.add()
      slot.resume?.(refused)
    }
    if (queue.size === 0) queued.closeUnsafe()
  })
  yield* queued.await.pipe(
    Effect.andThen(Effect.sleep(WAIT_STEP_MS)),
    Effect.andThen(giveUp),
    Effect.andThen(refuseExpired),
    Daemon.repeat("waits for a slot")
  )

  return CommandAdmission.of({
    isBusy: () => queue.size > 0,
    refusesNow: (user_id) => {
      if (queue.hasRoom(user_id, now())) return false
      refusals.add()
      return true
    },
    within: ({ body, user_id }, submit) =>
      Effect.uninterruptibleMask((restore) => {
        const slot: Slot = { state: "waiting", admitted_ms: 0, queued: undefined, resume: undefined }
        const run = Effect.onExit(restore(submit), (exit) => Effect.sync(() => answered(slot, exit)))
        if (cancels.has(body.type) || (queue.size === 0 && inFlight < limit.value)) {
          start(slot)
          return run
        }
        limit.reached()
        const at = now()
        if (!queue.hasRoom(user_id, at)) {
          refusals.add()
          return refused
        }
        slot.queued = queue.push(user_id, slot, at)
        queued.openUnsafe()
        const wait = Effect.callback<void, Overloaded>((resume) => {
          if (slot.state === "waiting") slot.resume = resume
          else resume(slot.state === "in-flight" ? admitted : refused)
        })
        // an interrupted caller releases its place in the queue, or a slot assigned at the same moment
        return Effect.andThen(
          Effect.onInterrupt(restore(wait), () => Effect.sync(() => end(slot))),
          run
        )
      })
  })
})

/** A sequencer with admission control. */
export const sequencer: Layer.Layer<Sequencer, never, CommandAdmission | Sequencer> = Layer.effect(
  Sequencer,
  Effect.gen(function* () {
    const port = yield* Sequencer
    const admission = yield* CommandAdmission
    return Sequencer.of({ ...port, submit: (command) => admission.within(command, port.submit(command)) })
  })
)
