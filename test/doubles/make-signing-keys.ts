/**
 * A thread that makes the signing key of one directory after the other, each at the same moment as the other threads, and posts the
 * ids of the keys.
 */
import { Effect, Redacted } from "effect"
import { join } from "node:path"
import { parentPort, workerData } from "node:worker_threads"
import * as NodeSigningKeys from "../../src/layers/node/NodeSigningKeys.ts"
import { SigningKeys } from "../../src/services/operations/SigningKeys.ts"

export interface Data {
  readonly dataDir: string
  readonly rounds: number
  readonly threads: number
  /** The number of threads that have reached each round. */
  readonly arrived: Int32Array
}

const { arrived, dataDir, rounds, threads } = workerData as Data
const made: Array<string> = []
for (let round = 0; round < rounds; round++) {
  const layer = NodeSigningKeys.layer({ dataDir: join(dataDir, String(round)), seed: undefined, verifyKeys: [] })
  Atomics.add(arrived, round, 1)
  while (Atomics.load(arrived, round) < threads);
  const { cursorKey } = Effect.runSync(Effect.provide(SigningKeys, layer))
  made.push(Redacted.value(cursorKey).toString())
}
parentPort!.postMessage(made)
