/**
 * `npm run bench -- profile [orders|signed|reads]`: profiles the gateway under orders, orders signed with an API key, or the
 * read of rest-read; prints the functions with the most CPU time.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { load, type Server, start } from "./Harness.ts"
import { freePort, gatewayEnv, login, nextOrder } from "./OrderEntry.bench.ts"
import { answerOf, request } from "./RestRead.bench.ts"
import { nextSigned, register } from "./SignedOrder.bench.ts"

const SECONDS = 8
const ROWS = 40
/** Time at the start of the load that is left out. */
const WARM_MS = 2_000

/** The kinds of load, prepared for a gateway. */
const loads: Record<string, (port: number) => Promise<() => Buffer>> = {
  orders: async (port) => nextOrder(await login(port)),
  signed: async (port) => {
    await register(port)
    return nextSigned
  },
  reads: async (port) => {
    await answerOf(port)
    return () => request
  }
}

interface Profile {
  readonly nodes: ReadonlyArray<{
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }>
  readonly samples: ReadonlyArray<number>
  readonly timeDeltas: ReadonlyArray<number>
}

const place = (url: string) => url.replace(/^.*\/node_modules\//u, "").replace(/^.*\/(src|bench)\//u, "$1/")

/** Prints the CPU time by function after the first `skipped_ms`, the start of the server. */
const print = (profile: Profile, skipped_ms: number): void => {
  const byId = new Map(profile.nodes.map((node) => [node.id, node.callFrame]))
  const self = new Map<string, number>()
  let busy = 0
  let at = 0
  profile.samples.forEach((id, i) => {
    const { functionName, lineNumber, url } = byId.get(id)!
    at += profile.timeDeltas[i]!
    if (at < skipped_ms * 1_000 || functionName === "(idle)") return
    const name = `${functionName || "(anonymous)"} ${place(url)}:${lineNumber + 1}`
    self.set(name, (self.get(name) ?? 0) + profile.timeDeltas[i]!)
    busy += profile.timeDeltas[i]!
  })
  const groups = new Map<string, number>()
  for (const [name, us] of self) {
    const url = name.slice(name.lastIndexOf(" ") + 1)
    const group = /^(node:|effect|@?[a-z-]+\/[a-z-]+)/u.exec(url)?.[1] ?? "native"
    groups.set(group, (groups.get(group) ?? 0) + us)
  }
  const byTime = [...groups].toSorted((a, b) => b[1] - a[1])
  console.log(byTime.map(([group, us]) => `${group} ${((100 * us) / busy).toFixed(1)} %`).join(", "))
  for (const [name, us] of [...self].toSorted((a, b) => b[1] - a[1]).slice(0, ROWS)) {
    console.log(`${((100 * us) / busy).toFixed(1).padStart(5)} %  ${name}`)
  }
}

export const main = async (): Promise<void> => {
  const name = process.argv[3] ?? "orders"
  const prepare = loads[name]
  if (prepare === undefined) throw new Error(`profiles: ${Object.keys(loads).join(", ")}`)
  const reads = name === "reads"
  const directory = mkdtempSync(join(tmpdir(), "gateway-profile-"))
  const profiles = join(directory, "profiles")
  const servers: Array<Server> = []
  try {
    const backend = await start("backend", "backend.ts", 1)
    servers.push(backend)
    const began = performance.now()
    const gateway = await start("gateway", "gateway.ts", 0, {
      ...gatewayEnv(await freePort(), join(directory, "data"), `127.0.0.1:${backend.port}`),
      ...(reads ? { RATE_LIMIT_MODE: "report" } : {}),
      NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profiles}`
    })
    servers.push(gateway)
    const next = await prepare(gateway.port)
    const skipped_ms = performance.now() - began + WARM_MS
    const result = await load({
      port: gateway.port,
      connections: 64,
      seconds: SECONDS,
      requests_max: Number.POSITIVE_INFINITY,
      next,
      correct: (body) => body.includes(reads ? '"bids"' : '"order_id"')
    })
    console.log(`${result.completed} answers, ${result.errors} errors`)
    await servers.pop()!.stop()
    const largest = readdirSync(profiles)
      .map((name) => readFileSync(join(profiles, name), "utf8"))
      .toSorted((a, b) => b.length - a.length)[0]!
    print(JSON.parse(largest) as Profile, skipped_ms)
  } finally {
    await Promise.all(servers.map((server) => server.stop().catch(() => {})))
    rmSync(directory, { recursive: true, force: true })
  }
}
