/**
 * `npm start`: listens first, then loads the gateway and serves until it receives a stop signal.
 *
 * The event loop stands still while modules are loaded. So the gateway is loaded in parts, each with what it imports, and the
 * listener answers probes between them.
 */
import { setImmediate } from "node:timers/promises"
import * as EarlyListen from "./layers/node/EarlyListen.ts"

const parts = [
  () => import("./domain/Reason.ts"),
  () => import("./http/api/Api.ts"),
  () => import("./layers/Standalone.ts"),
  () => import("./Gateway.ts")
]
/** Turns of the event loop in which a connection is accepted, read and answered. */
const TURNS = 3

const listener = await EarlyListen.listen(process.env)
for (const load of parts) {
  for (let turn = 0; turn < TURNS; turn++) await setImmediate()
  await load()
}
const { launch } = await import("./Launch.ts")
launch(listener)
