/**
 * A thread that takes one snapshot: it reads the journal while the writer runs, replays it in a second engine, and
 * writes the state of that engine. The writer never waits for it, and every snapshot also proves that the journal
 * replays.
 */
import { parentPort, workerData } from "node:worker_threads"
import { machine } from "./engine/EngineMachine.ts"
import { takeSnapshot } from "./journal/Recovery.ts"

parentPort!.postMessage(takeSnapshot(machine, workerData as string))
