/**
 * The thread that takes snapshots: it follows the journal with an engine of its own, so that the writer never waits. It
 * lives as long as the backend, because a new engine would have to be loaded and compiled for each snapshot.
 */
import { getPriority, platform, setPriority } from "node:os"
import { parentPort, workerData } from "node:worker_threads"
import { machine } from "./engine/EngineMachine.ts"
import { Follower } from "./journal/Follower.ts"
import type { SnapshotPoint, Taken } from "./journal/Recovery.ts"

export type SnapshotRequest = SnapshotPoint
export type SnapshotAnswer = { readonly taken: Taken } | { readonly error: string }

/**
 * Niceness that this thread adds to that of the process. Where all cores are busy it gets a third of what another thread gets, so that a snapshot takes
 * longer and commands do not. That is several times what it needs to keep up.
 */
const NICENESS = 5
const NICENESS_MAX = 19
// elsewhere a thread has no priority of its own: the whole process would get it
if (platform() === "linux") setPriority(Math.min(getPriority() + NICENESS, NICENESS_MAX))

const follower = new Follower(machine, workerData as string)

const answer = (point: SnapshotRequest): SnapshotAnswer => {
  try {
    return { taken: follower.take(point) }
  } catch (cause) {
    return { error: (cause as Error).message }
  }
}

parentPort!.on("message", (point: SnapshotRequest) => parentPort!.postMessage(answer(point)))
