/**
 * Kills a process at a named point. It is loaded before the program by `--import` and wraps methods of Node's own modules.
 * SIGUSR2 makes it read its order from the file that KILL_ORDER names; without an order it does nothing.
 */
import { readFileSync } from "node:fs"
import { ServerResponse } from "node:http"
import { Socket } from "node:net"
import { DatabaseSync, StatementSync } from "node:sqlite"
import { Duplex } from "node:stream"
import { BroadcastChannel, isMainThread } from "node:worker_threads"
import type { CrashOrder, Point } from "./CrashPoints.ts"

let order: { readonly point: Point; passes: number } | undefined

const die = (): void => void process.kill(process.pid, "SIGKILL")
const isReached = (point: Point): boolean => order?.point === point && --order.passes <= 0
/** Dies at once. */
const at = (point: Point): void => {
  if (isReached(point)) die()
}
/** Dies when the last write has been handed to the system. */
const after = (point: Point): void => {
  if (isReached(point)) setImmediate(() => setImmediate(die))
}

// oxlint-disable-next-line typescript/no-explicit-any
type Method = (this: any, ...args: ReadonlyArray<any>) => unknown
/** Replaces a method; `wrap` receives the original. */
const around = (holder: object, name: string, wrap: (first: Method) => Method): void => {
  const first = Reflect.get(holder, name) as Method
  Object.defineProperty(holder, name, { value: wrap(first), writable: true, configurable: true })
}

const COMMIT = "COMMIT"
/** Whether the journal was committed and not answered since. */
let isUnanswered = false

const install = (): void => {
  // the journal commits with `run`
  around(StatementSync.prototype, "run", (run) => {
    return function (...args) {
      const statement = this as StatementSync
      if (order === undefined || statement.sourceSQL !== COMMIT) return Reflect.apply(run, this, args)
      at("before the journal is written")
      const result = Reflect.apply(run, this, args)
      at("after the journal's sync")
      isUnanswered = true
      return result
    }
  })
  around(Duplex.prototype, "write", (write) => {
    return function (...args) {
      const taken = Reflect.apply(write, this, args)
      if (isUnanswered && (this as object).constructor.name === "ServerHttp2Stream") {
        isUnanswered = false
        after("after the backend's answer")
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
      if (isAcknowledgement) after("after the acknowledgement")
      return result
    }
  })
  // the thread of the histories commits with `exec`
  around(DatabaseSync.prototype, "exec", (exec) => {
    return function (...args) {
      const isHistory = (this as DatabaseSync).location()?.endsWith("history.sqlite") === true
      if (order === undefined || !isHistory || args[0] !== COMMIT) return Reflect.apply(exec, this, args)
      at("before the projector's commit")
      const result = Reflect.apply(exec, this, args)
      at("after the projector's commit")
      return result
    }
  })
  around(Socket.prototype, "write", (write) => {
    return function (...args) {
      const taken = Reflect.apply(write, this, args)
      const [chunk] = args as ReadonlyArray<unknown>
      // the first byte of a whole text frame, compressed or not
      if (chunk instanceof Buffer && (chunk[0] === 0x81 || chunk[0] === 0xc1)) after("after the sockets' frames")
      return taken
    }
  })
}

const file = process.env["KILL_ORDER"]
if (file !== undefined) {
  install()
  // the main thread receives the signal, and passes the order to the others
  const orders = new BroadcastChannel("crash-order")
  orders.addEventListener("message", (message) => {
    order = (message as MessageEvent<CrashOrder>).data
  })
  orders.unref()
  if (isMainThread) {
    process.on("SIGUSR2", () => {
      const { passes, point } = JSON.parse(readFileSync(file, "utf8")) as CrashOrder
      order = { point, passes }
      orders.postMessage(order)
    })
  }
}
