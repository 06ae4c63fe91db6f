/**
 * Fan-out: one event to thousands of WebSocket clients of a topic, one event per turn and ten per turn, and the cost of an
 * idle client.
 *
 * Floor: a C program that calls write() for each client. Peers: nginx with nchan, and a usual `ws` server that encodes and
 * sends for each client. Subject: the gateway's WebSocket code as shipped. All send the same messages; the server continues
 * when every client has received everything. Left out: TLS, a real network, slow clients, the source of the events.
 */
import { mkdtempSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { floor, type Native, nchan } from "./fanout/Natives.ts"
import { header, type Server, start, type Summary, summary } from "./Harness.ts"
import { cpuOf } from "../verification/harness/Cpu.ts"
import type { Ask, Kind, AudienceReport } from "./servers/audience.ts"

export interface Options {
  readonly clients: number
  readonly rounds: number
  readonly ms: number
  /** Most events per round; small in the smoke run. */
  readonly events_max: number
}

/** Events per turn. */
export const BURSTS = [1, 10] as const
/** Clients that connect and disconnect before memory is measured. */
const WARM_CLIENTS = 200

interface Variant {
  readonly name: string
  readonly pid: number
  readonly kind: Kind
  readonly control: number
  readonly audience: Server
  /** Present for Node servers. */
  readonly server: Server | undefined
  readonly stop: () => Promise<void>
}

export interface Row {
  readonly name: string
  /** CPU per delivered message. */
  readonly cpu_us: Summary
  /** The gateway's CPU in relation to this one's, per round. */
  readonly gateway_ratio: Summary
  /** Messages per second. */
  readonly rate: Summary
}

export interface Memory {
  readonly name: string
  /** Bytes per client, connected and subscribed, by the size of the process. */
  readonly rss: number
  /** The same by heap and external memory after a collection: of a connected client, and of a subscribed one. */
  readonly heap: number | undefined
  readonly heap_subscribed: number | undefined
}

export interface Report {
  readonly leftOut: ReadonlyArray<string>
  readonly bursts: ReadonlyMap<number, ReadonlyArray<Row>>
  readonly memory: ReadonlyArray<Memory>
  /** By variant; equal where the messages were equal. */
  readonly hashes: ReadonlyMap<string, string>
}

/** Private memory of a process, in bytes. */
const rssOf = (pid: number): number =>
  Number(/^VmRSS:\s+(\d+)/mu.exec(readFileSync(`/proc/${pid}/status`, "utf8"))![1]) * 1_024

const request = async (audience: Server, ask: Ask): Promise<AudienceReport> => {
  const answer = await audience.ask<AudienceReport>(ask)
  if (answer.error !== undefined) throw new Error(`${audience.name}: ${answer.error}`)
  return answer
}

/** Connects clients to a variant, and measures their cost. */
const fill = async (
  { audience, control, kind, name, pid, server }: Variant,
  at: { readonly port: number; readonly path: string; readonly replies: number },
  clients: number
): Promise<Memory> => {
  const heap = async () => (server === undefined ? undefined : (await server.settled()).heap_mb * 1_048_576)
  if (server !== undefined) {
    await request(audience, { ask: "connect", port: at.port, path: at.path, clients: WARM_CLIENTS })
    if (at.replies > 0) await request(audience, { ask: "subscribe", replies: at.replies })
    await request(audience, { ask: "leave" })
  }
  const [heapBefore, rssBefore] = [await heap(), rssOf(pid)]
  await request(audience, { ask: "connect", port: at.port, path: at.path, clients })
  const connected = await heap()
  if (at.replies > 0) await request(audience, { ask: "subscribe", replies: at.replies })
  const subscribed = await heap()
  await request(audience, { ask: "control", port: control, kind })
  const each = (bytes: number | undefined) => (bytes === undefined ? undefined : (bytes - heapBefore!) / clients)
  return {
    name,
    rss: (rssOf(pid) - rssBefore) / clients,
    heap: each(connected),
    heap_subscribed: each(subscribed)
  }
}

export const run = async (options: Options): Promise<Report> => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-bench-"))
  const variants: Array<Variant> = []
  const memory: Array<Memory> = []
  const leftOut: Array<string> = []
  const add = async (
    name: string,
    kind: Kind,
    native: Native | undefined,
    at: { readonly path: string; readonly replies: number },
    server?: Server
  ): Promise<void> => {
    if (native === undefined) {
      leftOut.push(name)
      return
    }
    const audience = await start(`clients of ${name}`, "audience.ts", 1)
    const stop = async () => {
      await native.stop()
      await audience.stop()
    }
    const variant = { name, pid: native.pid, kind, control: native.control, audience, server, stop }
    variants.push(variant)
    memory.push(await fill(variant, { port: native.port, ...at }, options.clients))
  }
  const addOwn = async (name: string, module: string, at: { readonly path: string; readonly replies: number }) => {
    const server = await start(name, module, 0)
    const native = { pid: server.pid, port: server.port, control: Number(server.ready["control"]), stop: server.stop }
    await add(name, "count", native, at, server)
  }
  try {
    await add("floor", "frames", await floor(directory), { path: "/", replies: 0 })
    await add("nchan", "posts", await nchan(directory), { path: "/sub", replies: 0 })
    await addOwn("ws", "fanout-ws.ts", { path: "/", replies: 0 })
    await addOwn("gateway", "fanout-gateway.ts", { path: "/ws/public", replies: 2 })

    const hashes = new Map<string, string>()
    const bursts = new Map<number, ReadonlyArray<Row>>()
    for (const burst of BURSTS) {
      const cpu = new Map(variants.map(({ name }) => [name, [] as Array<number>]))
      const rate = new Map(variants.map(({ name }) => [name, [] as Array<number>]))
      for (let round = 0; round <= options.rounds; round++) {
        for (const { audience, name, pid } of round % 2 === 0 ? variants : variants.toReversed()) {
          const before = cpuOf(pid)
          const { events, hash, seconds } = await request(audience, {
            ask: "run",
            burst,
            ms: options.ms,
            events_max: options.events_max
          })
          const used = cpuOf(pid) - before
          hashes.set(name, hash)
          if (round === 0) continue // warm-up
          cpu.get(name)!.push(used / (events * options.clients))
          rate.get(name)!.push((events * options.clients) / seconds)
        }
      }
      const gateway = cpu.get("gateway")!
      const rows = variants.map(({ name }) => ({
        name,
        cpu_us: summary(cpu.get(name)!),
        gateway_ratio: summary(cpu.get(name)!.map((value, round) => gateway[round]! / value)),
        rate: summary(rate.get(name)!)
      }))
      bursts.set(burst, rows)
    }
    return { leftOut, bursts, memory, hashes }
  } finally {
    await Promise.all(variants.map(({ stop }) => stop().catch(() => {})))
    rmSync(directory, { recursive: true, force: true })
  }
}

const shown = ({ max, median, min }: Summary, digits: number): string =>
  `${median.toFixed(digits)} [${min.toFixed(digits)}-${max.toFixed(digits)}]`

const print = (clients: number, { bursts, hashes, leftOut, memory }: Report): void => {
  for (const name of leftOut)
    console.log(`left out: ${name}, which is not installed (docs/benchmarks.md says what it needs)`)
  if (new Set(hashes.values()).size !== 1)
    throw new Error(`the variants sent different messages: ${JSON.stringify([...hashes])}`)
  for (const [burst, rows] of bursts) {
    for (const row of rows) console.log(JSON.stringify({ clients, burst, ...row }))
    console.log(`\n| ${clients} clients, ${burst} a turn | CPU µs a message | gateway against it | messages/s |`)
    console.log("|---|---|---|---|")
    for (const { cpu_us, gateway_ratio, name, rate } of rows) {
      console.log(`| ${name} | ${shown(cpu_us, 2)} | ${shown(gateway_ratio, 2)} | ${rate.median.toFixed(0)} |`)
    }
    const { max, min } = rows[0]!.cpu_us
    if (max / min > 1.35) console.log("\nnoisy: the floor's own CPU spread is above 1.35; run again")
  }
  console.log(`\n| bytes a client, ${clients} clients | process | heap | heap, subscribed |`)
  console.log("|---|---|---|---|")
  for (const { heap, heap_subscribed, name, rss } of memory) {
    const bytes = (value: number | undefined) => value?.toFixed(0) ?? ""
    console.log(`| ${name} | ${bytes(rss)} | ${bytes(heap)} | ${bytes(heap_subscribed)} |`)
  }
}

/** `npm run bench -- fanout [CLIENTS]`: 1,000 and 10,000 clients by default. */
export const main = async (): Promise<void> => {
  const sizes = process.argv[3] === undefined ? [1_000, 10_000] : [Number(process.argv[3])]
  const options = { rounds: 5, ms: 2_000, events_max: Number.MAX_SAFE_INTEGER }
  console.log(JSON.stringify(header("npm run bench -- fanout", options.rounds, "TLS, a real network, slow clients")))
  for (const clients of sizes) print(clients, await run({ ...options, clients }))
}
