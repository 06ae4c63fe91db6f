/** A user over REST, RPC and private sockets of several gateways, who keeps everything that they show. */
import { newKeys, nonce } from "../harness/RestClient.ts"
import { until } from "../harness/Wait.ts"
import type { Json } from "./Records.ts"
import type { Frame, Listed, Seen, Subscription } from "./Seen.ts"
import { type Topic, TOPICS } from "./Truth.ts"

export interface Gateway {
  readonly name: string
  readonly url: string
}

export interface Answer {
  /** 0: the call ended without an answer */
  readonly status: number
  readonly body: Json
  readonly ms: number
}

/** Longest wait for an answer, in ms. */
const ANSWER_MS = 30_000
/** Pause before a lost socket connects again, in ms. */
const AGAIN_MS = 50

/** The procedure of each path that users call. */
const PROCEDURES: Readonly<Record<string, string>> = {
  "/order/create": "order.create",
  "/order/amend": "order.amend",
  "/order/cancel": "order.cancel",
  "/order/cancel-all": "order.cancelAll",
  "/order/realtime": "order.realtime",
  "/position/list": "position.list",
  "/position/set-leverage": "position.setLeverage",
  "/position/switch-margin-mode": "position.switchMarginMode",
  "/position/add-margin": "position.addMargin",
  "/position/trading-stop": "position.tradingStop",
  "/account/balances": "account.balances",
  "/account/faucet": "account.faucet",
  "/account/transfer": "account.transfer"
}

const LISTS: Readonly<Record<Listed["what"], string>> = {
  order: "/order/realtime",
  position: "/position/list",
  account_balance: "/account/balances"
}

const lost: Answer = { status: 0, body: {}, ms: 0 }

/** A socket that subscribes all private topics, and again from its position after each loss. */
class Follower {
  readonly gateway: Gateway
  seq = 0
  private readonly user: User
  private stream_id: string | undefined
  private socket: WebSocket | undefined
  private current: Subscription | undefined
  private closed = false

  constructor(user: User, gateway: Gateway) {
    this.user = user
    this.gateway = gateway
    this.connect()
  }

  private connect(): void {
    if (this.closed) return
    const socket = new WebSocket(`${this.gateway.url.replace("http", "ws")}/ws/private`)
    this.socket = socket
    this.current = undefined
    socket.addEventListener("open", () => socket.send(JSON.stringify({ op: "auth", bearer: this.user.token })))
    socket.addEventListener("message", ({ data }) => this.take(socket, JSON.parse(String(data)) as Json))
    socket.addEventListener("error", () => {}) // the close event follows
    socket.addEventListener("close", () => setTimeout(() => this.connect(), AGAIN_MS))
  }

  private take(socket: WebSocket, frame: Json): void {
    if (frame["op"] === "auth" && frame["success"] === true) {
      const since = this.stream_id === undefined ? undefined : { stream_id: this.stream_id, seq: this.seq }
      this.current = {
        user_id: this.user.user_id,
        gateway: this.gateway.name,
        since: since?.seq,
        frames: [],
        whole: false
      }
      this.user.seen.subscriptions.push(this.current)
      socket.send(JSON.stringify({ op: "subscribe", args: TOPICS, ...(since === undefined ? {} : { since }) }))
    } else if (frame["op"] === "auth" || frame["op"] === "error") {
      // a gateway that has just started may refuse: the client connects again
      socket.close()
    } else if (frame["op"] === "subscribed") {
      const { args, resume } = frame
      // one that is refused whole for now answers nothing: an error follows
      if ((args as ReadonlyArray<string>).length > 0 || resume !== undefined)
        this.current!.frames.push({ kind: "subscribed", resume: resume as never })
    } else if (frame["op"] === "event") {
      const { list, mts, prev_seq, seq, stream_id, type } = frame["data"] as Json
      this.current!.frames.push({
        kind: type,
        topic: frame["topic"] as Topic,
        stream_id,
        seq,
        prev_seq,
        mts,
        list
      } as Frame)
      this.stream_id = stream_id
      this.seq = Math.max(this.seq, seq)
    }
  }

  /** Waits for everything up to a position, and ends. */
  async finish(seq: number): Promise<void> {
    await until(
      () => `${this.gateway.name} shows ${this.user.user_id} event ${seq}; it is at ${this.seq}`,
      () => this.seq >= seq && this.current !== undefined && this.current.frames.length > 0
    )
    if (this.current !== undefined) this.current.whole = true
    this.close()
  }

  close(): void {
    this.closed = true
    this.socket?.close()
  }
}

export class User {
  token = ""
  user_id = ""
  accounts: ReadonlyArray<string> = []
  readonly seen: Seen
  readonly gateways: ReadonlyArray<Gateway>
  private followers: ReadonlyArray<Follower> = []
  private readonly acknowledged = new Map<Gateway, Array<string>>()

  private constructor(gateways: ReadonlyArray<Gateway>, seen: Seen) {
    this.gateways = gateways
    this.seen = seen
  }

  /** Signs a new wallet in, with so many sub-accounts, and follows its events at every gateway. */
  static async open(gateways: ReadonlyArray<Gateway>, accounts: number, seen: Seen): Promise<User> {
    const user = new User(gateways, seen)
    const [gateway] = gateways
    const { publicKey, sign } = newKeys()
    const answered = async (method: string, path: string, body?: object): Promise<Json> => {
      const once = () => user.call(gateway!, "REST", method, path, typeof body === "function" ? body() : body)
      return until(`${path} of a new user`, async () => {
        const { body, status } = await once()
        return status === 200 ? body : undefined
      })
    }
    const login = (): object => {
      const fresh = { timestamp_ms: Date.now(), nonce: nonce() }
      const signature = sign(`SERVICE_AUTH|LOGIN|${publicKey}|${fresh.timestamp_ms}|${fresh.nonce}`)
      return { public_key: publicKey, signature, ...fresh }
    }
    const { token, user_id } = await answered("POST", "/authorize", login as never)
    user.token = token as string
    user.user_id = user_id as string
    await until("the sub-accounts of a new user", async () => {
      const { list } = await answered("GET", "/user/sub-accounts")
      user.accounts = list.map((account: Json) => account["sub_account_address"])
      if (user.accounts.length >= accounts) return true
      await user.call(gateway!, "REST", "POST", "/user/sub-accounts", {})
      return false
    })
    user.followers = gateways.map((each) => new Follower(user, each))
    return user
  }

  async call(gateway: Gateway, over: "REST" | "RPC", method: string, path: string, body?: object): Promise<Answer> {
    const began = performance.now()
    const answer = await (over === "REST"
      ? this.rest(gateway, method, path, body)
      : this.rpc(gateway, method, path, body))
    const { status } = answer
    if (status === 500) this.seen.faults.push(`${over} ${path} at ${gateway.name}: 500 ${JSON.stringify(answer.body)}`)
    if (status === 200 && path === "/order/create") {
      const order_id = answer.body["order_id"] as string
      this.seen.acknowledged.push({ user_id: this.user_id, order_id })
      const own = this.acknowledged.get(gateway) ?? []
      own.push(order_id)
      this.acknowledged.set(gateway, own)
    }
    return { ...answer, ms: performance.now() - began }
  }

  private async rest(gateway: Gateway, method: string, path: string, body: object | undefined): Promise<Answer> {
    const headers = {
      ...(this.token === "" ? {} : { authorization: `Bearer ${this.token}` }),
      ...(body === undefined ? {} : { "content-type": "application/json" })
    }
    try {
      const response = await fetch(`${gateway.url}/api/v1${path}`, {
        method,
        headers,
        signal: AbortSignal.timeout(ANSWER_MS),
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
      return { status: response.status, body: (await response.json()) as Json, ms: 0 }
    } catch {
      return lost
    }
  }

  private async rpc(gateway: Gateway, method: string, path: string, body: object | undefined): Promise<Answer> {
    const [route = "", search] = path.split("?")
    const query = Object.fromEntries(new URLSearchParams(search))
    const call = {
      _tag: "Request",
      id: "1",
      tag: PROCEDURES[route],
      payload: method === "GET" ? { query } : { payload: body },
      headers: [["authorization", `Bearer ${this.token}`]]
    }
    try {
      const response = await fetch(`${gateway.url}/rpc`, {
        method: "POST",
        body: `${JSON.stringify(call)}\n`,
        signal: AbortSignal.timeout(ANSWER_MS)
      })
      const messages = (await response.text()).split("\n").filter((line) => line !== "")
      const exit = messages.flatMap((line) => JSON.parse(line) as Json).find((message) => "exit" in message)?.["exit"]
      if (exit === undefined) return lost
      if (exit._tag === "Success") return { status: 200, body: exit.value, ms: 0 }
      const [cause] = exit.cause
      return { status: cause?._tag === "Fail" ? 400 : 500, body: cause?.error ?? cause, ms: 0 }
    } catch {
      return lost
    }
  }

  private shownBy(gateway: Gateway): number {
    return this.followers.find((follower) => follower.gateway === gateway)!.seq
  }

  /** Reads a list, all its pages, and keeps it. Answers its position; `undefined` where the gateway refused. */
  async list(
    gateway: Gateway,
    what: Listed["what"],
    over: Listed["over"],
    sub_account_address?: string
  ): Promise<number | undefined> {
    const shown = this.shownBy(gateway)
    const acknowledged = [...(this.acknowledged.get(gateway) ?? [])]
    const query = new URLSearchParams({
      ...(what === "account_balance" ? {} : { limit: "200" }),
      ...(sub_account_address === undefined ? {} : { sub_account_address })
    })
    const first = await this.call(gateway, over, "GET", `${LISTS[what]}?${query.toString()}`)
    // a list of several pages has several positions
    if (first.status !== 200 || (first.body["next_page_cursor"] ?? "") !== "") return undefined
    const { list: records, seq, stream_id } = first.body
    this.seen.lists.push({
      user_id: this.user_id,
      gateway: gateway.name,
      what,
      over,
      sub_account_address,
      stream_id,
      seq,
      records,
      shown,
      acknowledged,
      ms: first.ms
    })
    return seq as number
  }

  private async pages(gateway: Gateway, path: string): Promise<ReadonlyArray<Json> | undefined> {
    const records: Array<Json> = []
    for (let cursor = ""; ;) {
      const { body, status } = await this.call(
        gateway,
        "REST",
        "GET",
        `${path}?limit=200${cursor === "" ? "" : `&cursor=${cursor}`}`
      )
      if (status !== 200) return undefined
      records.push(...(body["list"] as ReadonlyArray<Json>))
      cursor = (body["next_page_cursor"] as string | undefined) ?? ""
      if (cursor === "") return records
    }
  }

  /** Reads the whole history at a gateway until nothing happens meanwhile, and keeps it. */
  async history(gateway: Gateway): Promise<number> {
    return until(`${gateway.name} lists the history of ${this.user_id}`, async () => {
      const seq = await this.list(gateway, "order", "REST")
      if (seq === undefined) return undefined
      const orders = await this.pages(gateway, "/order/history")
      const executions = await this.pages(gateway, "/execution/list")
      const closedPnl = await this.pages(gateway, "/position/closed-pnl")
      const after = await this.list(gateway, "order", "REST")
      if (orders === undefined || executions === undefined || closedPnl === undefined || after !== seq) return undefined
      this.seen.histories.push({ user_id: this.user_id, gateway: gateway.name, seq, orders, executions, closedPnl })
      return seq
    })
  }

  /** Waits until every socket has everything up to a position, and ends. */
  async finish(seq: number): Promise<void> {
    await Promise.all(this.followers.map((follower) => follower.finish(seq)))
  }

  close(): void {
    for (const follower of this.followers) follower.close()
  }
}
