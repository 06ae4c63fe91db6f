/** `npm run bench -- profile`: where the gateway's time goes while it takes orders; prints the functions with the most of it. */
import { mkdtempSync, readdirSync, readFileSync, rmSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { load, type Server, start } from "./Harness.ts"
import { freePort, gatewayEnv, login, nextOrder } from "./OrderEntry.bench.ts"

const SECONDS = 8
const ROWS = 30

interface Profile {
  readonly nodes: ReadonlyArray<{
    readonly id: number
    readonly callFrame: { readonly functionName: string; readonly url: string; readonly lineNumber: number }
  }>
  readonly samples: ReadonlyArray<number>
  readonly timeDeltas: ReadonlyArray<number>
}

const place = (url: string) => url.replace(/^.*\/node_modules\//u, "").replace(/^.*\/(src|bench)\//u, "$1/")

const print = (profile: Profile): void => {
  const byId = new Map(profile.nodes.map((node) => [node.id, node.callFrame]))
  const self = new Map<string, number>()
  let busy = 0
  profile.samples.forEach((id, i) => {
    const { functionName, lineNumber, url } = byId.get(id)!
    if (functionName === "(idle)") return
    const name = `${functionName || "(anonymous)"} ${place(url)}:${lineNumber + 1}`
    self.set(name, (self.get(name) ?? 0) + profile.timeDeltas[i]!)
    busy += profile.timeDeltas[i]!
  })
  for (const [name, us] of [...self].toSorted((a, b) => b[1] - a[1]).slice(0, ROWS)) {
    console.log(`${((100 * us) / busy).toFixed(1).padStart(5)} %  ${name}`)
  }
}

export const main = async (): Promise<void> => {
  const directory = mkdtempSync(join(tmpdir(), "gateway-profile-"))
  const profiles = join(directory, "profiles")
  const servers: Array<Server> = []
  try {
    const backend = await start("backend", "backend.ts", 1)
    servers.push(backend)
    const gateway = await start("gateway", "gateway.ts", 0, {
      ...gatewayEnv(await freePort(), join(directory, "data"), `127.0.0.1:${backend.port}`),
      NODE_OPTIONS: `--cpu-prof --cpu-prof-dir=${profiles}`
    })
    servers.push(gateway)
    const token = await login(gateway.port)
    const result = await load({
      port: gateway.port,
      connections: 64,
      seconds: SECONDS,
      requests_max: Number.POSITIVE_INFINITY,
      next: nextOrder(token),
      correct: (body) => body.includes('"order_id"')
    })
    console.log(`${result.completed} orders, ${result.errors} errors`)
    await servers.pop()!.stop()
    const largest = readdirSync(profiles)
      .map((name) => readFileSync(join(profiles, name), "utf8"))
      .toSorted((a, b) => b.length - a.length)[0]!
    print(JSON.parse(largest) as Profile)
  } finally {
    await Promise.all(servers.map((server) => server.stop().catch(() => {})))
    rmSync(directory, { recursive: true, force: true })
  }
}
