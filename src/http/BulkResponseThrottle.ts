/**
 * Throttles large responses: they are sent in parts, one part at a time, and all requests of one address share one turn.
 * So a response of a megabyte delays another request by no more than one part, however many clients request it, and
 * whether they read it or not.
 */
import { Deferred, Effect, Stream } from "effect"
import { networkOf } from "../domain/Ip.ts"
import { currentMonotonicMillis } from "../services/operations/Monotonic.ts"

/** Bytes of a part; their copy is about the delay that a turn adds to other requests. */
export const PART_BYTES = 64 * 1024
/** Least time between two parts, in ms: with it, 32 MiB a second go out to all at most. */
const PART_MS = 2

export interface BulkResponseThrottle {
  /** The bytes as they go out to this address. */
  readonly stream: (address: string, bytes: Uint8Array) => Stream.Stream<Uint8Array>
}

const partsOf = (bytes: Uint8Array): ReadonlyArray<Uint8Array> =>
  Array.from({ length: Math.ceil(bytes.length / PART_BYTES) }, (_, i) =>
    bytes.subarray(i * PART_BYTES, (i + 1) * PART_BYTES)
  )

export const make = (): BulkResponseThrottle => {
  /** Who waits for a turn, by address; the address that waits longest comes first. */
  const waiting = new Map<string, Set<Deferred.Deferred<void>>>()
  let isMoving = false
  let freeAt = 0

  /** Gives a turn to one of the next address, which then goes to the end. */
  const advance = (): void => {
    const [first] = waiting
    if (first === undefined) return
    const [network, own] = first
    const [turn] = own
    waiting.delete(network)
    own.delete(turn!)
    if (own.size > 0) waiting.set(network, own)
    Deferred.doneUnsafe(turn!, Effect.void)
  }
  /** Serves the queue until it is empty. */
  const move = Effect.gen(function* () {
    while (waiting.size > 0) {
      const now = yield* currentMonotonicMillis
      if (freeAt > now) yield* Effect.sleep(freeAt - now)
      freeAt = Math.max(now, freeAt) + PART_MS
      advance()
    }
    isMoving = false
  })

  const takeTurn = (network: string): Effect.Effect<void> =>
    // a reader that is interrupted between its place in the queue and the start of the queue would stop the queue for good
    Effect.uninterruptibleMask((restore) => {
      const turn = Deferred.makeUnsafe<void>()
      const own = waiting.get(network)
      if (own === undefined) waiting.set(network, new Set([turn]))
      else own.add(turn)
      const started = isMoving ? Effect.void : Effect.forkDetach(move)
      isMoving = true
      // who leaves gives the turn back
      const leave = Effect.sync(() => {
        const rest = waiting.get(network)
        if (rest?.delete(turn) === true && rest.size === 0) waiting.delete(network)
      })
      return Effect.andThen(
        started,
        Effect.onInterrupt(restore(Deferred.await(turn)), () => leave)
      )
    })

  return {
    stream: (address, bytes) => {
      const turn = takeTurn(networkOf(address))
      return Stream.mapEffect(Stream.fromIterable(partsOf(bytes)), (part) => Effect.as(turn, part))
    }
  }
}
