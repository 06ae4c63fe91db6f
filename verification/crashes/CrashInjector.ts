/**
 * Loaded before a program by `--import`, and no part of it: lays itself around what Node gives a program, and kills the
 * process at a named point. SIGUSR2 has it read its order from the file that KILL_ORDER names; until then nothing happens.
 */
import { readFileSync } from "node:fs"
import { ServerResponse } from "node:http"
import { Socket } from "node:net"
import { DatabaseSync, StatementSync } from "node:sqlite"
import { Duplex } from "node:stream"
import { isMainThread } from "node:worker_threads"
import type { Order, Point } from "./CrashPoints.ts"

let order: { readonly point: Point; passes: number } | undefined

const die = (): void => void process.kill(process.pid, "SIGKILL")
const isReached = (point: Point): boolean => order?.point === point && --order.passes <= 0
/** Dies here. */
const at = (point: Point): void => {
  if (isReached(point)) die()
}
/** Dies when what was just written has been handed to the system. */
const behind = (point: Point): void => {
  if (isReached(point)) setImmediate(() => setImmediate(die))
}

// oxlint-disable-next-line typescript/no-explicit-any
type Method = (this: any, ...args: ReadonlyArray<any>) => unknown
/** Puts another method in the place of one; it is given the first. */
const around = (holder: object, name: string, put: (first: Method) => Method): void => {
  const first = Reflect.get(holder, name) as Method
  Object.defineProperty(holder, name, { value: put(first), writable: true, configurable: true })
}

const COMMIT = "COMMIT"
/** Whether the journal was committed and nobody told since. */
let isUntold = false
/** The commits of the read model. */
const ofHistory = new WeakSet<StatementSync>()

const lay = (): void => {
  // the journal commits by `run`
  around(StatementSync.prototype, "run", (run) => {
    return function (...args) {
      const statement = this as StatementSync
      if (order === undefined || statement.sourceSQL !== COMMIT) return Reflect.apply(run, this, args)
      at("before the journal is written")
      const result = Reflect.apply(run, this, args)
      at("after the journal's sync")
      isUntold = true
      return result
    }
  })
  around(Duplex.prototype, "write", (write) => {
    return function (...args) {
      const taken = Reflect.apply(write, this, args)
      if (isUntold && (this as object).constructor.name === "ServerHttp2Stream") {
        isUntold = false
        behind("after the backend's answer")
      }
      return taken
    }
  })
  around(ServerResponse.prototype, "end", (end) => {
    return function (...args) {
      const { req, statusCode } = this as ServerResponse
      const isAcknowledgement = statusCode === 200 && req.method === "POST" && req.url?.startsWith("/api/v1/order/")
      if (isAcknowledgement) at("before the acknowledgement")
      const result = Reflect.apply(end, this, args)
      if (isAcknowledgement) behind("after the acknowledgement")
      return result
    }
  })
  around(DatabaseSync.prototype, "prepare", (prepare) => {
    return function (...args) {
      const statement = Reflect.apply(prepare, this, args) as StatementSync
      const isHistory = (this as DatabaseSync).location()?.endsWith("history.sqlite") === true
      if (isHistory && args[0] === COMMIT) ofHistory.add(statement)
      return statement
    }
  })
  // the read model commits by `all`
  around(StatementSync.prototype, "all", (all) => {
    return function (...args) {
      if (order === undefined || !ofHistory.has(this as StatementSync)) return Reflect.apply(all, this, args)
      at("before the projector's commit")
      const result = Reflect.apply(all, this, args)
      at("after the projector's commit")
      return result
    }
  })
  around(Socket.prototype, "write", (write) => {
    return function (...args) {
      const taken = Reflect.apply(write, this, args)
      const [chunk] = args as ReadonlyArray<unknown>
      // the first byte of a whole text frame, compressed or not
      if (chunk instanceof Buffer && (chunk[0] === 0x81 || chunk[0] === 0xc1)) behind("after the sockets are told")
      return taken
    }
  })
}

const file = process.env["KILL_ORDER"]
if (file !== undefined && isMainThread) {
  lay()
  process.on("SIGUSR2", () => {
    const { passes, point } = JSON.parse(readFileSync(file, "utf8")) as Order
    order = { point, passes }
  })
}
