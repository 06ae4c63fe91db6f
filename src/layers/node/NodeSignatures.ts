/**
 * Ed25519 by `node:crypto`, behind the strict checks of `domain/Ed25519.ts`.
 *
 * A verification takes about 0.1 ms; in the thread pool a tenth of it remains on this thread. A single one completes sooner
 * on this thread. So the first ones of an event-loop turn run here and the others in the pool.
 */
import { Effect, Layer } from "effect"
import { createPublicKey, type KeyObject, verify } from "node:crypto"
import { mayVerify } from "../../domain/Ed25519.ts"
import { Lru } from "../../services/operations/Lru.ts"
import { CurrentMetricsRegistry } from "../../services/operations/MetricsRegistry.ts"
import { Signatures } from "../../services/identity/Signatures.ts"

/** DER of a SubjectPublicKeyInfo for Ed25519, up to the 32 bytes of the key. */
const SPKI = Buffer.from("302a300506032b6570032100", "hex")
/** Concurrent verifications up to which the calling thread runs them. */
const SYNC_MAX = 2

export interface Options {
  /** Parsed keys kept. Default 4096. */
  readonly keys_max?: number
}

/** Node's representation of a public key. */
export const keyObjectOf = (publicKey: Uint8Array): KeyObject =>
  createPublicKey({ key: Buffer.concat([SPKI, publicKey]), format: "der", type: "spki" })

export const layer = (options: Options = {}): Layer.Layer<Signatures> =>
  Layer.effect(
    Signatures,
    Effect.map(CurrentMetricsRegistry, (meter) => {
      const lookups = meter.cache("signature_keys")
      const keys = new Lru<string, KeyObject>(options.keys_max ?? 4096)
      const keyOf = (publicKey: Uint8Array): KeyObject => {
        const name = Buffer.from(publicKey.buffer, publicKey.byteOffset, publicKey.length).toString("latin1")
        const known = keys.get(name)
        if (known !== undefined) {
          lookups.hit.add()
          return known
        }
        lookups.miss.add()
        const key = keyObjectOf(publicKey)
        keys.set(name, key)
        return key
      }

      const verifySync = (publicKey: Uint8Array, message: Uint8Array, signature: Uint8Array): boolean => {
        if (!mayVerify(publicKey, signature)) return false
        try {
          return verify(null, message, keyOf(publicKey), signature)
        } catch {
          return false
        }
      }

      // verifications on this thread count until the turn ends, so that a burst does not block the event loop
      let inFlight = 0
      let doneHere = 0
      const nextTurn = () => {
        inFlight -= doneHere
        doneHere = 0
      }

      return Signatures.of({
        verifySync,
        verify: (publicKey, message, signature) =>
          Effect.suspend(() => {
            if (!mayVerify(publicKey, signature)) return Effect.succeed(false)
            inFlight++
            if (inFlight <= SYNC_MAX) {
              if (doneHere++ === 0) setImmediate(nextTurn)
              return Effect.succeed(verifySync(publicKey, message, signature))
            }
            return Effect.callback<boolean>((resume) => {
              const done = (verdict: boolean) => {
                inFlight--
                resume(Effect.succeed(verdict))
              }
              try {
                verify(null, message, keyOf(publicKey), signature, (error, verdict) => done(error === null && verdict))
              } catch {
                done(false)
              }
            })
          })
      })
    })
  )
