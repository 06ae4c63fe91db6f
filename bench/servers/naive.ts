/**
 * A peer for the whole exchange, as an engineer writes it in a day: Fastify, @fastify/jwt (HS256), nodejs-order-book, node:sqlite
 * (WAL, synchronous=FULL, one transaction for the requests of an event-loop turn), and a `ws` socket for each user.
 *
 * It answers the calls of the load (create, cancel, /ready) and sends each order, execution and balance to its user's
 * socket. A request is answered after its transaction has committed. It has no margin, no risk checks, no exact decimals, no
 * limits and no replay.
 */
import jwt from "@fastify/jwt"
import Fastify from "fastify"
import { randomUUID } from "node:crypto"
import { mkdtempSync, rmSync } from "node:fs"
import type { AddressInfo } from "node:net"
import { createRequire } from "node:module"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { DatabaseSync } from "node:sqlite"
import { type WebSocket, WebSocketServer } from "ws"
import { serve } from "./usage.ts"

interface Trade {
  readonly id: string
  readonly size: number
  readonly price: number
}
/** What nodejs-order-book returns; its own types do not resolve under NodeNext. */
interface Processed {
  readonly done: ReadonlyArray<Trade>
  readonly partial: Trade | null
  readonly partialQuantityProcessed: number
  readonly err: Error | null
}
interface Book {
  readonly limit: (order: { side: "buy" | "sell"; id: string; size: number; price: number }) => Processed
  readonly cancel: (id: string) => unknown
}
const { OrderBook } = createRequire(import.meta.url)("nodejs-order-book") as { readonly OrderBook: new () => Book }

const USERS = 8
const FUNDS = 1e9

interface Order {
  readonly order_id: string
  readonly order_link_id: string
  readonly user: number
  readonly side: "Buy" | "Sell"
  readonly price: number
  readonly qty: number
  filled: number
  status: "New" | "PartiallyFilled" | "Filled" | "Cancelled"
  readonly created_time: number
}
interface Body {
  readonly side: "Buy" | "Sell"
  readonly qty: string
  readonly price: string
  readonly order_link_id?: string
}
type Token = { readonly user: number }

const directory = mkdtempSync(join(tmpdir(), "naive-"))
process.on("exit", () => rmSync(directory, { recursive: true, force: true }))
const db = new DatabaseSync(join(directory, "exchange.sqlite"))
db.exec(`
  PRAGMA journal_mode = WAL;
  PRAGMA synchronous = FULL;
  CREATE TABLE orders (order_id TEXT PRIMARY KEY, order_link_id TEXT, user INTEGER, side TEXT, price REAL, qty REAL, filled REAL,
    status TEXT, created_time INTEGER) WITHOUT ROWID;
  CREATE INDEX orders_of_user ON orders (user, created_time);
  CREATE TABLE executions (exec_id TEXT PRIMARY KEY, order_id TEXT, user INTEGER, side TEXT, price REAL, qty REAL,
    exec_time INTEGER) WITHOUT ROWID;
  CREATE INDEX executions_of_user ON executions (user, exec_time);
  CREATE TABLE balances (user INTEGER PRIMARY KEY, cash REAL, position REAL);
`)
const putOrder = db.prepare(
  "INSERT INTO orders VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?) ON CONFLICT (order_id) DO UPDATE SET filled = excluded.filled, status = excluded.status"
)
const putExecution = db.prepare("INSERT INTO executions VALUES (?, ?, ?, ?, ?, ?, ?)")
const putBalance = db.prepare(
  "INSERT INTO balances VALUES (?, ?, ?) ON CONFLICT (user) DO UPDATE SET cash = excluded.cash, position = excluded.position"
)

const book = new OrderBook()
const orders = new Map<string, Order>()
const balances = Array.from({ length: USERS }, () => ({ cash: FUNDS, position: 0 }))
const sockets: Array<WebSocket | undefined> = []

/** What the requests of this turn changed: written and committed together, then sent and answered. */
let turn: {
  readonly orders: Set<Order>
  readonly executions: Array<readonly [string, string, number, string, number, number, number]>
  readonly users: Set<number>
  readonly messages: Array<readonly [number, string]>
  readonly answers: Array<() => void>
} = { orders: new Set(), executions: [], users: new Set(), messages: [], answers: [] }
let isDue = false

const commit = (): void => {
  isDue = false
  const { answers, executions, messages, orders: changed, users } = turn
  turn = { orders: new Set(), executions: [], users: new Set(), messages: [], answers: [] }
  db.exec("BEGIN")
  for (const { created_time, filled, order_id, order_link_id, price, qty, side, status, user } of changed)
    putOrder.run(order_id, order_link_id, user, side, price, qty, filled, status, created_time)
  for (const execution of executions) putExecution.run(...execution)
  for (const user of users) putBalance.run(user, balances[user]!.cash, balances[user]!.position)
  db.exec("COMMIT")
  for (const [user, message] of messages) sockets[user]?.send(message)
  for (const answer of answers) answer()
}
/** Resolves when the turn is committed. */
const committed = <A>(value: A): Promise<A> =>
  new Promise((resolve) => {
    turn.answers.push(() => resolve(value))
    if (isDue) return
    isDue = true
    setImmediate(commit)
  })

const tell = (user: number, topic: string, record: object): void => {
  turn.messages.push([user, JSON.stringify({ op: "event", topic, data: { list: [record] } })])
}
const changed = (order: Order): void => {
  turn.orders.add(order)
  tell(order.user, "order", order)
  if (order.status === "Filled" || order.status === "Cancelled") orders.delete(order.order_id)
}
const fill = (order: Order, qty: number, price: number, now: number): void => {
  order.filled += qty
  order.status = order.filled >= order.qty - 1e-9 ? "Filled" : "PartiallyFilled"
  const { order_id, side, user } = order
  const exec_id = randomUUID()
  turn.executions.push([exec_id, order_id, user, side, price, qty, now])
  tell(user, "execution", { exec_id, order_id, side, price, qty, exec_time: now })
  const balance = balances[user]!
  const sign = side === "Buy" ? 1 : -1
  balance.position += sign * qty
  balance.cash -= sign * qty * price
  turn.users.add(user)
  tell(user, "account_balance", { user, ...balance })
  changed(order)
}

const app = Fastify()
await app.register(jwt, { secret: "naive-exchange-secret-of-thirty-two" })
const decimal = { type: "string", pattern: "^(?:0|[1-9]\\d{0,19})(?:\\.\\d{1,18})?$" } as const
const authenticate = async (request: { jwtVerify: () => Promise<unknown> }) => void (await request.jwtVerify())
const text = { type: "string" } as const

app.post<{ Body: Body }>(
  "/api/v1/order/create",
  {
    schema: {
      body: {
        type: "object",
        required: ["sub_account_address", "symbol", "side", "order_type", "qty", "price"],
        properties: {
          sub_account_address: text,
          symbol: text,
          side: { enum: ["Buy", "Sell"] },
          order_type: { enum: ["Limit"] },
          qty: decimal,
          price: decimal,
          order_link_id: text
        }
      },
      response: { 200: { type: "object", properties: { order_id: text, order_link_id: text } } }
    },
    onRequest: authenticate
  },
  (request) => {
    const { order_link_id = "", price, qty, side } = request.body
    const { user } = request.user as Token
    const now = Date.now()
    const order: Order = {
      order_id: randomUUID(),
      order_link_id,
      user,
      side,
      price: Number(price),
      qty: Number(qty),
      filled: 0,
      status: "New",
      created_time: now
    }
    orders.set(order.order_id, order)
    changed(order)
    const processed = book.limit({
      side: side === "Buy" ? "buy" : "sell",
      id: order.order_id,
      size: order.qty,
      price: order.price
    })
    for (const { id, price, size } of processed.done) {
      const maker = orders.get(id)
      if (maker === undefined || maker === order) continue
      fill(maker, size, price, now)
      fill(order, size, price, now)
    }
    const { partial, partialQuantityProcessed } = processed
    if (partial !== null && partialQuantityProcessed > 0) {
      const maker = orders.get(partial.id)
      if (maker !== undefined && maker !== order) {
        fill(maker, partialQuantityProcessed, partial.price, now)
        fill(order, partialQuantityProcessed, partial.price, now)
      }
    }
    return committed({ order_id: order.order_id, order_link_id })
  }
)
app.post<{ Body: { readonly order_id: string } }>(
  "/api/v1/order/cancel",
  {
    schema: {
      body: {
        type: "object",
        required: ["sub_account_address", "symbol", "order_id"],
        properties: { sub_account_address: text, symbol: text, order_id: text }
      },
      response: { 200: { type: "object", properties: { order_id: text } } }
    },
    onRequest: authenticate
  },
  async (request, reply) => {
    const { order_id } = request.body
    const order = orders.get(order_id)
    if (order === undefined || order.user !== (request.user as Token).user) {
      return reply.code(404).send({ code: "NOT_FOUND" })
    }
    book.cancel(order_id)
    order.status = "Cancelled"
    changed(order)
    return committed({ order_id })
  }
)
app.get("/ready", () => ({ status: "ready" }))

const upgrades = new WebSocketServer({ server: app.server, path: "/ws/private", perMessageDeflate: false })
upgrades.on("connection", (ws) => {
  ws.on("message", (data: Buffer) => {
    const message = JSON.parse(data.toString()) as {
      readonly op: string
      readonly bearer?: string
      readonly args?: unknown
    }
    if (message.op === "auth") {
      sockets[app.jwt.verify<Token>(message.bearer ?? "").user] = ws
      ws.send(JSON.stringify({ op: "auth", success: true }))
    } else ws.send(JSON.stringify({ op: "subscribed", args: message.args }))
  })
})

await app.listen({ port: 0, host: "127.0.0.1" })
const users = balances.map((_, user) => ({ token: app.jwt.sign({ user } satisfies Token), vault: String(user) }))
serve((app.server.address() as AddressInfo).port, { users })
