/**
 * The thread that takes snapshots: it follows the journal with an engine of its own, so that the writer never waits. It
 * lives as long as the backend, because a new engine would have to be loaded and compiled for each snapshot.
 */
import { parentPort, workerData } from "node:worker_threads"
import { machine } from "./engine/EngineMachine.ts"
import { Follower } from "./journal/Follower.ts"
import type { SnapshotPoint, Taken } from "./journal/Recovery.ts"

export type SnapshotRequest = SnapshotPoint
export type SnapshotAnswer = { readonly taken: Taken } | { readonly error: string }

const follower = new Follower(machine, workerData as string)

const answer = (point: SnapshotRequest): SnapshotAnswer => {
  try {
    return { taken: follower.take(point) }
  } catch (cause) {
    return { error: (cause as Error).message }
  }
}

parentPort!.on("message", (point: SnapshotRequest) => parentPort!.postMessage(answer(point)))
