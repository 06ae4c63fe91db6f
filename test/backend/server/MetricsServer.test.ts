/** The metrics port of a backend that runs alone. */
import { credentials } from "@grpc/grpc-js"
import { Effect } from "effect"
import { afterAll, assert, beforeAll, it } from "vitest"
import { catalogue } from "../../../src/backend/server/BackendMetrics.ts"
import { serve } from "../../../src/backend/server/MetricsServer.ts"
import { SequencerClient } from "../../../src/proto/gateway/v1/sequencer.ts"
import { submitAll, temporary } from "../../doubles/FakeBackend.ts"
import { type BackendProcess, startBackend } from "../../../verification/harness/BackendProcess.ts"

const { directory, remove } = temporary()
let backend: BackendProcess
beforeAll(async () => {
  backend = await startBackend({ dataDir: directory, env: { METRICS_PORT: "0" } })
})
afterAll(async () => {
  await backend?.kill()
  remove()
})

const get = (path: string, method = "GET") => fetch(`http://127.0.0.1:${backend.metricsPort}${path}`, { method })
const valueOf = (text: string, series: string): number =>
  Number(
    text
      .split("\n")
      .find((line) => line.startsWith(`${series} `))
      ?.split(" ")[1]
  )

it("exports each metric of its table, and counts committed turns", async () => {
  const before = await (await get("/metrics")).text()
  const names = [...before.matchAll(/^# TYPE (\S+) /gmu)].map((match) => match[1]!)
  assert.sameMembers(names, Object.keys(catalogue))

  const client = new SequencerClient(`127.0.0.1:${backend.port}`, credentials.createInsecure())
  const command = { command_id: "a", user_id: "", sub_account_address: "", issued_at_ms: 1, command: undefined }
  await submitAll(client, [[command]])
  client.close()
  const response = await get("/metrics")
  assert.match(response.headers.get("content-type")!, /^text\/plain; version=0\.0\.4/u)
  const after = await response.text()
  for (const one of ["backend_turn_commands_sum", "backend_journal_commit_seconds_count"]) {
    assert.isAbove(valueOf(after, one), valueOf(before, one), one)
  }
  assert.strictEqual(valueOf(after, "backend_failed"), 0)
  assert.strictEqual(valueOf(after, "backend_disk_full"), 0)
})

it("serves no other path", async () => {
  assert.strictEqual((await get("/")).status, 404)
  assert.strictEqual((await get("/metrics", "POST")).status, 404)
})

it("names the setting where its port is taken", async () => {
  const port = backend.metricsPort!
  const { message } = await Effect.runPromise(Effect.flip(Effect.scoped(serve("127.0.0.1", port, () => ""))))
  assert.match(message, new RegExp(`^METRICS_PORT: cannot listen on 127\\.0\\.0\\.1:${port}: .*EADDRINUSE`, "u"))
})
