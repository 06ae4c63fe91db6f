/**
 * A thread that takes one snapshot: it reads the journal beside the writer, brings a second engine to its end, and writes
 * that one's state. The writer never waits for it, and every snapshot is also a proof that the journal replays.
 */
import { parentPort, workerData } from "node:worker_threads"
import { machine } from "./engine/EngineMachine.ts"
import { takeSnapshot } from "./journal/Replay.ts"

parentPort!.postMessage(takeSnapshot(machine, workerData as string))
