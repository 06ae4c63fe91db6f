/**
 * A backend that is restored from a backup below running gateways of a fleet: lists and private sockets of each gateway show
 * exactly the open orders of the restored history, and continue in it. Source: docs/operations/backup.md#restore.
 */
import { execFileSync } from "node:child_process"
import { join } from "node:path"
import { Effect, Exit, HashMap, Scope } from "effect"
import { afterAll, assert, beforeAll, describe, it } from "vitest"
import { Client, Wallet } from "../../src/client/index.ts"
import type { Restored } from "../../src/backend/Restore.ts"
import { backendCommand, startBackend } from "../../verification/harness/BackendProcess.ts"
import { startExchange } from "../../verification/harness/Exchange.ts"
import { Fleet, isFleetInstalled, SECRET } from "../../verification/harness/Fleet.ts"
import { isNatsInstalled } from "../../verification/harness/NatsServer.ts"
import { binaries } from "../../verification/harness/PostgresBinaries.ts"
import { PostgresServer } from "../../verification/harness/PostgresServer.ts"
import { type TemporaryFolder, temporaryFolder } from "../../verification/harness/Programs.ts"
import { UNLIMITED } from "../../verification/harness/Settings.ts"
import { START_MS, until } from "../../verification/harness/Wait.ts"

const { wallet } = Wallet.generate()
const run = Effect.runPromise

/** Where the journal is, and how it is backed up and restored. */
interface Store {
  readonly env: () => Record<string, string>
  readonly backup: (dataDir: string, to: string) => void
  readonly restore: (dataDir: string, from: string) => Restored
}

const file: Store = {
  env: () => ({}),
  backup: (dataDir, to) => backendCommand(dataDir, ["backup", to]),
  restore: (dataDir, from) => backendCommand(dataDir, ["restore", from]) as Restored
}
const databaseOf = (server: () => PostgresServer): Store => {
  const url = () => `postgres://gateway@127.0.0.1:${server().port}/postgres`
  const program = (name: string, ...args: ReadonlyArray<string>) =>
    void execFileSync(join(binaries()!, name), [...args, "-d", url()])
  return {
    env: () => ({ JOURNAL_URL: url() }),
    backup: (_, to) => program("pg_dump", "-Fc", "-f", to),
    restore: (dataDir, from) => {
      program("pg_restore", "--clean", "--if-exists", from)
      return backendCommand(dataDir, ["restore"], { JOURNAL_URL: url() }) as Restored
    }
  }
}

/** A user at one gateway: its list of open orders, and those that its private socket shows. */
const userAt = Effect.fnUntraced(function* (baseUrl: string) {
  const client = yield* Client.make({ baseUrl })
  yield* client.login(wallet)
  const [first] = (yield* client.user.subAccounts()).list
  const account = yield* client.ownAccount
  const linksOf = (orders: Iterable<{ readonly order_link_id?: string | undefined }>) =>
    [...orders]
      .map(({ order_link_id }) => order_link_id)
      .toSorted()
      .join()
  const market = { sub_account_address: first!.sub_account_address, symbol: "BTC-USDC" } as const
  const order = { ...market, side: "Buy", order_type: "Limit", qty: "0.001", price: "58000" } as const
  return {
    fund: client.account.faucet({
      payload: { sub_account_address: market.sub_account_address, asset: "USDC", amount: "10000" }
    }),
    place: (links: ReadonlyArray<string>) =>
      Effect.forEach(links, (order_link_id) => client.order.create({ payload: { ...order, order_link_id } })),
    cancel: (order_link_id: string) => client.order.cancel({ payload: { ...market, order_link_id } }),
    listed: Effect.map(client.order.realtime({ query: { limit: 200 } }), ({ list }) => linksOf(list)),
    shown: () => (account.get().live ? linksOf(HashMap.values(account.get().orders)) : "not live")
  }
})
type User = Effect.Success<ReturnType<typeof userAt>>

/** The number of sub-accounts of a user who logs in at a gateway. */
const subAccountsOf = (user: Wallet.Wallet, baseUrl: string) =>
  Effect.scoped(
    Effect.gen(function* () {
      const client = yield* Client.make({ baseUrl })
      yield* client.login(user)
      return (yield* client.user.subAccounts()).list.length
    })
  )

const rebuilds = async (url: string): Promise<number> => {
  const text = await (await fetch(`${url}/metrics`)).text()
  return Number(/^gateway_read_model_rebuilds_total\{reason="Forked"\} (\d+)$/mu.exec(text)?.[1] ?? 0)
}

const journals: ReadonlyArray<[string, (server: () => PostgresServer) => Store]> = [
  ["a file", () => file],
  ["PostgreSQL", databaseOf]
]

describe.skipIf(!isFleetInstalled || !isNatsInstalled).each(journals)(
  "a fleet whose backend, with its journal in %s, is restored",
  { timeout: START_MS },
  (_, storeOf) => {
    let folder: TemporaryFolder
    let server: PostgresServer
    let fleet: Fleet
    let users: ReadonlyArray<User>
    let backups = 0
    const said: Array<string> = []
    const store = storeOf(() => server)
    const scope = Scope.makeUnsafe()

    beforeAll(async () => {
      folder = temporaryFolder("restore-fleet")
      server = await PostgresServer.start()
      const backendEnv = { ...store.env(), METRICS_PORT: "0" }
      fleet = await Fleet.start({ gateways: 2, nats: true, env: UNLIMITED, backendEnv, say: (line) => said.push(line) })
      const at = fleet.members.map(({ url }) => Scope.provide(userAt(url), scope))
      users = await run(Effect.all(at))
      await run(users[0]!.fund)
    }, START_MS)
    afterAll(async () => {
      await run(Scope.close(scope, Exit.void))
      await fleet?.close()
      await server?.remove()
      folder?.remove()
    })

    const total = async () =>
      (await Promise.all(fleet.members.map(({ url }) => rebuilds(url)))).reduce((sum, count) => sum + count, 0)
    /** Waits until both gateways list and show these open orders alone. */
    const show = async (links: ReadonlyArray<string>) => {
      const wanted = links.toSorted().join()
      const seen = async () =>
        JSON.stringify(
          await Promise.all(
            users.map(async (user) => [await run(Effect.orElseSucceed(user.listed, () => "no list")), user.shown()])
          )
        )
      let last = ""
      await until(
        () => `${wanted} at both gateways; the last lists and sockets are ${last}`,
        async () => (last = await seen()) === JSON.stringify(users.map(() => [wanted, wanted])),
        60_000
      )
    }

    /** Restores the backend below what the gateways show. `meanwhile` runs before they see it again. */
    const restoreBelow = async (name: string, meanwhile: () => Promise<ReadonlyArray<string>>) => {
      const open = await run(users[0]!.listed)
      const before = open === "" ? [] : open.split(",")
      const [forgotten, counted] = [said.length, await total()]
      const kept = [...before, `${name}-kept-1`, `${name}-kept-2`]
      await run(users[0]!.place(kept.slice(-2)))
      const backup = join(folder.path, `backup-${++backups}`)
      store.backup(fleet.backendDir, backup)
      // the restored history has neither these orders nor the cancel
      const lost = [1, 2, 3].map((i) => `${name}-lost-${i}`)
      await run(Effect.andThen(users[1]!.place(lost), users[1]!.cancel(`${name}-kept-1`)))
      await show([...before, `${name}-kept-2`, ...lost])
      // nor the sub-account of a user who came after the backup
      const newcomer = Wallet.generate().wallet
      assert.strictEqual(await run(subAccountsOf(newcomer, fleet.members[1]!.url)), 1)
      await fleet.backend.kill()
      const restored = store.restore(fleet.backendDir, backup)
      assert.strictEqual(restored.lost?.commands, 5)
      const more = await meanwhile()
      await fleet.startBackend()
      await show([...kept, ...more])
      assert.strictEqual(await run(subAccountsOf(newcomer, fleet.members[0]!.url)), 1)

      await run(users[1]!.place([`${name}-new`]))
      await show([...kept, ...more, `${name}-new`])
      const lines = said.slice(forgotten).filter((line) => line.includes("the backend is on another history"))
      assert.isAbove(lines.length, 0)
      assert.isAbove(await total(), counted)
      const metrics = await fetch(`http://127.0.0.1:${fleet.backend.metricsPort}/metrics`)
      assert.include(await metrics.text(), `backend_forks ${backups}`)
    }

    if (store === file) {
      it("shows no lost order and misses none, where NATS keeps the lost events", () =>
        restoreBelow("kept", async () => []))

      it("shows no lost order and misses none, where NATS is empty", () =>
        restoreBelow("empty", async () => {
          await fleet.nats!.kill()
          await fleet.nats!.begin()
          return []
        }))
    }

    it("shows no lost order and misses none, where the backend has acknowledged more than it lost before they see it", () =>
      restoreBelow("ahead", async () => {
        const links = Array.from({ length: 12 }, (_, i) => `ahead-${i}`)
        const backend = await startBackend({ dataDir: fleet.backendDir, env: fleet.backendEnv })
        const env = { BACKEND: "grpc", SEQUENCER_URL: `127.0.0.1:${backend.port}`, BACKEND_SECRET: SECRET }
        const other = await startExchange({ env })
        await run(Effect.scoped(Effect.flatMap(userAt(other.url), ({ place }) => place(links))))
        await other.close()
        await backend.stop()
        return links
      }))
  }
)
