/**
 * Latency from an order to its private event, one in flight: from the last byte of the POST to the frame with the new order
 * on the user's socket. The order is then canceled, which is not measured.
 *
 * Floor: two chained TCP echo servers, the second one after a synced write. Peer: node:http, one unary gRPC call, and the
 * backend's events over `ws`. Subject: the gateway as shipped. Peer and subject each have a separate backend with its
 * journal. Latencies are wall time, so only ratios within a round are comparable.
 */
import { mkdtempSync, rmSync } from "node:fs"
import { connect, type Socket } from "node:net"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { header, percentile, type Server, start, type Summary, summary } from "./Harness.ts"
import { cpuOf } from "../verification/harness/Cpu.ts"
import { freePort, gatewayEnv, login } from "./OrderEntry.bench.ts"
import { masked, PING, PONG, upgradeRequest } from "./RawSocket.ts"

export interface Options {
  readonly rounds: number
  /** Orders per variant and round. */
  readonly orders: number
}

export interface Row {
  readonly name: string
  readonly p50_us: Summary
  readonly p99_us: Summary
  /** CPU of the front server per order and cancellation; of one echo for the floor. */
  readonly cpu_us: Summary
  /** The gateway's p50 in relation to this one's, per round. */
  readonly gateway_ratio: Summary
}

/** Longest wait for a response or an event, in ms. */
const PATIENCE_MS = 20_000

/** A connection that can wait until the data since the last wait satisfies a condition. */
class Wire {
  private readonly socket: Socket
  private text = ""
  private look: (text: string) => boolean = () => false
  private found: (at: bigint) => void = () => {}

  constructor(port: number) {
    this.socket = connect({ port, host: "127.0.0.1", noDelay: true })
    this.socket.on("error", () => {})
    this.socket.on("data", (bytes: Buffer) => {
      if (bytes.includes(PING)) this.socket.write(PONG)
      this.text += bytes.toString("latin1")
      if (!this.look(this.text)) return
      this.look = () => false
      this.text = ""
      this.found(process.hrtime.bigint())
    })
  }
  /** When the condition was satisfied. */
  until(look: (text: string) => boolean): Promise<bigint> {
    this.text = ""
    return new Promise((resolve, reject) => {
      const lost = setTimeout(() => reject(new Error(`not seen: ${this.text.slice(0, 500)}`)), PATIENCE_MS)
      this.look = look
      this.found = (at) => {
        clearTimeout(lost)
        resolve(at)
      }
    })
  }
  send(bytes: Buffer | string): void {
    this.socket.write(bytes)
  }
  close(): void {
    this.socket.destroy()
  }
}

/** A variant: one measured operation, in us. */
interface Variant {
  readonly name: string
  /** The process of the front server. */
  readonly pid: number
  /** Opens the connection of a round: an idle one may have been closed meanwhile. */
  readonly begin: () => void
  readonly once: () => Promise<number>
}

const echo = (name: string, pid: number, wire: Wire): Variant => {
  const body = Buffer.alloc(200, "x")
  return {
    name,
    pid,
    begin: () => {},
    once: async () => {
      const back = wire.until((text) => text.length === body.length)
      const began = process.hrtime.bigint()
      wire.send(body)
      return Number((await back) - began) / 1_000
    }
  }
}

interface Trader {
  readonly token: string
  readonly user_id: string
  readonly sub_account_address: string
  readonly price: string
}

/** Logs in and makes a deposit: a user that can place orders, 2 % below the mark. */
const trader = async (port: number): Promise<Trader> => {
  const token = await login(port)
  const ask = async (path: string, body?: object) => {
    const call = () =>
      fetch(`http://127.0.0.1:${port}/api/v1${path}`, {
        method: body === undefined ? "GET" : "POST",
        headers: { authorization: `Bearer ${token}`, "content-type": "application/json" },
        ...(body === undefined ? {} : { body: JSON.stringify(body) })
      })
    let response = await call()
    // a busy machine may start the backend slowly
    for (let i = 0; response.status === 503 && i < 100; i++) {
      await new Promise((resolve) => setTimeout(resolve, 100))
      response = await call()
    }
    if (!response.ok) throw new Error(`${path}: ${await response.text()}`)
    return (await response.json()) as { readonly list: ReadonlyArray<Record<string, string>> }
  }
  const { list } = await ask("/user/sub-accounts")
  const sub_account_address = list[0]!["sub_account_address"]!
  await ask("/account/faucet", { sub_account_address, asset: "USDC", amount: "10000" })
  const ticker = (await ask("/market/tickers?symbol=BTC-USDC")).list[0]!
  const claims = JSON.parse(Buffer.from(token.split(".")[1]!, "base64url").toString()) as { readonly sub: string }
  return { token, user_id: claims.sub, sub_account_address, price: (Number(ticker["mark_price"]) * 0.98).toFixed(1) }
}

/** Opens a user's socket with a subscription to its orders. */
const listen = async (port: number, authenticate: string | undefined): Promise<Wire> => {
  const wire = new Wire(port)
  const opened = wire.until((text) => text.includes("\r\n\r\n"))
  wire.send(upgradeRequest("/ws/private"))
  await opened
  if (authenticate === undefined) return wire
  const accepted = wire.until((text) => text.includes('"success":true'))
  wire.send(masked(JSON.stringify({ op: "auth", bearer: authenticate })))
  await accepted
  const subscribed = wire.until((text) => text.includes('"type":"snapshot"'))
  wire.send(masked(JSON.stringify({ op: "subscribe", args: ["order"] })))
  await subscribed
  return wire
}

const answered = (text: string): boolean => {
  const head = text.indexOf("\r\n\r\n")
  const length = /content-length: (\d+)/iu.exec(text)
  if (head === -1 || length === null || text.length < head + 4 + Number(length[1])) return false
  if (!text.startsWith("HTTP/1.1 200 ")) throw new Error(text)
  return true
}

let orders = 0
const orderer = (
  name: string,
  pid: number,
  connected: () => Wire,
  events: Wire,
  { price, sub_account_address, token }: Trader
): Variant => {
  let http = connected()
  const post = (path: string, value: object): Buffer => {
    const body = JSON.stringify({ sub_account_address, symbol: "BTC-USDC", ...value })
    return Buffer.from(
      `POST /api/v1/order/${path} HTTP/1.1\r\nhost: 127.0.0.1\r\nauthorization: Bearer ${token}\r\n` +
        `content-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`
    )
  }
  const order = {
    side: "Buy",
    order_type: "Limit",
    qty: "0.001",
    price,
    time_in_force: "GTC",
    post_only: false,
    reduce_only: false
  }
  return {
    name,
    pid,
    begin: () => {
      http.close()
      http = connected()
    },
    once: async () => {
      const order_link_id = `bench-${String(orders++).padStart(8, "0")}`
      const create = post("create", { ...order, order_link_id })
      let answer = http.until(answered)
      const event = events.until((text) => text.includes(order_link_id))
      const began = process.hrtime.bigint()
      http.send(create)
      const [at] = await Promise.all([event, answer])
      answer = http.until(answered)
      const gone = events.until((text) => /"order_status":"(?:ORDER_STATUS_CANCELED|Canceled)"/u.test(text))
      http.send(post("cancel", { order_link_id }))
      await Promise.all([answer, gone])
      return Number(at - began) / 1_000
    }
  }
}

export const run = async (options: Options): Promise<ReadonlyArray<Row>> => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-bench-"))
  const servers: Array<Server> = []
  const wires: Array<Wire> = []
  const up = async (name: string, module: string, core: number, env: Record<string, string>): Promise<Server> => {
    const server = await start(name, module, core, env)
    servers.push(server)
    return server
  }
  const wired = (wire: Wire): Wire => {
    wires.push(wire)
    return wire
  }
  const exchange = async (name: string): Promise<string> => {
    const port = await freePort()
    await up(`backend of ${name}`, "exchange.ts", 1, {
      BACKEND_PORT: String(port),
      HOST: "127.0.0.1",
      DATA_DIR: join(directory, name),
      SIM_MAKER: "off",
      INDEX_SOURCE: "manual",
      LOG_LEVEL: "error"
    })
    return `127.0.0.1:${port}`
  }
  const gateway = async (name: string, backend: string): Promise<Server> =>
    up(name, "gateway.ts", 0, gatewayEnv(await freePort(), join(directory, `${name}-data`), backend))
  try {
    const last = await up("echo", "echo.ts", 1, { ECHO_FILE: join(directory, "synced") })
    const first = await up("echo in front", "echo.ts", 0, { ECHO_BEHIND: String(last.port) })

    const subjectBackend = await exchange("subject")
    const subject = await gateway("gateway", subjectBackend)
    const user = await trader(subject.port)

    // the peer's user is created through a gateway that has stopped before the measurement
    const peerBackend = await exchange("peer")
    const helper = await gateway("helper", peerBackend)
    const peerUser = await trader(helper.port)
    servers.splice(servers.indexOf(helper), 1)
    await helper.stop()
    const peer = await up("peer", "unary-events.ts", 0, { BENCH_BACKEND: peerBackend, BENCH_USER: peerUser.user_id })

    const variants = [
      echo("floor", first.pid, wired(new Wire(first.port))),
      orderer("unary", peer.pid, () => wired(new Wire(peer.port)), wired(await listen(peer.port, undefined)), peerUser),
      orderer(
        "gateway",
        subject.pid,
        () => wired(new Wire(subject.port)),
        wired(await listen(subject.port, user.token)),
        user
      )
    ]
    const p50 = new Map(variants.map(({ name }) => [name, [] as Array<number>]))
    const cpu = new Map(variants.map(({ name }) => [name, [] as Array<number>]))
    const p99 = new Map(variants.map(({ name }) => [name, [] as Array<number>]))
    for (let round = 0; round <= options.rounds; round++) {
      for (const { begin, name, once, pid } of round % 2 === 0 ? variants : variants.toReversed()) {
        begin()
        const before = cpuOf(pid)
        const latencies = new Float64Array(options.orders)
        for (let i = 0; i < options.orders; i++) latencies[i] = await once()
        if (round === 0) continue // warm-up
        cpu.get(name)!.push((cpuOf(pid) - before) / options.orders)
        latencies.sort()
        p50.get(name)!.push(percentile(latencies, 50))
        p99.get(name)!.push(percentile(latencies, 99))
      }
    }
    const own = p50.get("gateway")!
    return variants.map(({ name }) => ({
      name,
      p50_us: summary(p50.get(name)!),
      p99_us: summary(p99.get(name)!),
      cpu_us: summary(cpu.get(name)!),
      gateway_ratio: summary(p50.get(name)!.map((value, round) => own[round]! / value))
    }))
  } finally {
    for (const wire of wires) wire.close()
    await Promise.all(servers.map((server) => server.stop()))
    rmSync(directory, { recursive: true, force: true })
  }
}

const shown = ({ max, median, min }: Summary, digits: number): string =>
  `${median.toFixed(digits)} [${min.toFixed(digits)}-${max.toFixed(digits)}]`

export const main = async (): Promise<void> => {
  const options: Options = { rounds: 6, orders: 1_000 }
  console.log(JSON.stringify(header("npm run bench -- event-latency", options.rounds, "TLS, a real network, load")))
  const rows = await run(options)
  for (const row of rows) console.log(JSON.stringify(row))
  console.log("\n| variant | p50 µs | p99 µs | gateway against it | CPU µs |\n|---|---|---|---|---|")
  for (const { cpu_us, gateway_ratio, name, p50_us, p99_us } of rows) {
    console.log(
      `| ${name} | ${shown(p50_us, 0)} | ${shown(p99_us, 0)} | ${shown(gateway_ratio, 2)} | ${shown(cpu_us, 0)} |`
    )
  }
  const { max, min } = rows[0]!.p50_us
  if (max / min > 1.35) console.log("\nnoisy: the floor's own spread is above 1.35; run again")
}
