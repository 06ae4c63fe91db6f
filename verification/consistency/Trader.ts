/** A user over REST and one private socket, which keeps every record of its topics. */
import { newKeys, nonce } from "../harness/RestClient.ts"
import { until } from "../harness/Wait.ts"

// oxlint-disable-next-line typescript/no-explicit-any
export type Json = any

const TOPICS = ["order", "execution", "position", "account_balance"] as const
export type Topic = (typeof TOPICS)[number]

/** An event of a private topic: its sequence number, its time, and its one record. */
export interface Shown {
  readonly topic: Topic
  readonly seq: number
  readonly mts: number
  readonly record: Json
}

export class Trader {
  readonly shown: Array<Shown> = []
  /** Position of the last event. */
  head = 0
  vaults: ReadonlyArray<string> = []
  private token = ""
  private socket: WebSocket | undefined
  private readonly url: string

  private constructor(url: string) {
    this.url = url
  }

  /** Signs a new wallet in, with so many sub-accounts, and follows all its private topics. */
  static async open(url: string, accounts: number): Promise<Trader> {
    const trader = new Trader(url)
    const { publicKey, sign } = newKeys()
    const fresh = { timestamp_ms: Date.now(), nonce: nonce() }
    const signature = sign(`SERVICE_AUTH|LOGIN|${publicKey}|${fresh.timestamp_ms}|${fresh.nonce}`)
    const login = await trader.answer("POST", "/authorize", { public_key: publicKey, signature, ...fresh })
    trader.token = login.token
    for (let i = 1; i < accounts; i++) await trader.answer("POST", "/user/sub-accounts", {})
    const { list } = await trader.answer("GET", "/user/sub-accounts")
    trader.vaults = list.map(({ sub_account_address }: Json) => sub_account_address)
    await trader.follow()
    return trader
  }

  async call(method: string, path: string, body?: object): Promise<{ readonly status: number; readonly body: Json }> {
    const response = await fetch(`${this.url}/api/v1${path}`, {
      method,
      headers: {
        ...(this.token === "" ? {} : { authorization: `Bearer ${this.token}` }),
        ...(body === undefined ? {} : { "content-type": "application/json" })
      },
      ...(body === undefined ? {} : { body: JSON.stringify(body) })
    })
    return { status: response.status, body: await response.json() }
  }

  /** The body of an answer that must be a success. */
  private async answer(method: string, path: string, body?: object): Promise<Json> {
    const answer = await this.call(method, path, body)
    if (answer.status >= 300) throw new Error(`${method} ${path}: ${answer.status} ${JSON.stringify(answer.body)}`)
    return answer.body
  }

  /** Every record of a list, page after page, and the position of the first page. */
  async list(path: string): Promise<{ readonly records: ReadonlyArray<Json>; readonly seq: number }> {
    const records: Array<Json> = []
    let seq = 0
    for (let cursor = ""; ;) {
      const page = cursor === "" ? path : `${path}${path.includes("?") ? "&" : "?"}cursor=${cursor}`
      const body = await this.answer("GET", page)
      if (cursor === "") seq = body.seq ?? 0
      records.push(...body.list)
      cursor = body.next_page_cursor ?? ""
      if (cursor === "") return { records, seq }
    }
  }

  private follow(): Promise<void> {
    const socket = new WebSocket(`${this.url.replace("http", "ws")}/ws/private`)
    this.socket = socket
    return new Promise((resolve, reject) => {
      socket.addEventListener("error", () => reject(new Error("the private socket failed")))
      socket.addEventListener("open", () => socket.send(JSON.stringify({ op: "auth", bearer: this.token })))
      socket.addEventListener("message", ({ data }) => {
        const frame = JSON.parse(String(data)) as Json
        if (frame.op === "auth") socket.send(JSON.stringify({ op: "subscribe", args: TOPICS }))
        else if (frame.op === "subscribed") resolve()
        else if (frame.op === "event") this.take(frame.topic, frame.data)
      })
    })
  }

  private take(topic: Topic, { list, mts, seq, type }: Json): void {
    this.head = Math.max(this.head, seq)
    if (type !== "update") return
    for (const record of list) this.shown.push({ topic, seq, mts, record })
  }

  /** Waits until the socket has received the stream up to a position. */
  async reached(seq: number): Promise<void> {
    await until(
      () => `the socket is at ${this.head}, the list at ${seq}`,
      () => this.head >= seq
    )
  }

  close(): void {
    this.socket?.close()
  }
}
