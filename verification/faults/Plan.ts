/** The faults of each dependency: how each is injected and how it ends. */
import type { FaultProxy } from "../harness/FaultProxy.ts"
import type { Fleet } from "../harness/Fleet.ts"

export const dependencies = ["sequencer", "referee", "backend", "Redis", "PostgreSQL", "NATS"] as const
export type Dependency = (typeof dependencies)[number]
export const faults = ["down", "hung", "slow", "emptied"] as const
export type Fault = (typeof faults)[number]

/** Delay in each direction of a slow link, in ms. */
export const SLOW_MS = 100

export interface Injection {
  readonly dependency: Dependency
  readonly fault: Fault
  readonly inject: (fleet: Fleet) => Promise<void>
  readonly heal: (fleet: Fleet) => Promise<void>
}

type Act = (fleet: Fleet) => unknown
const injection = (dependency: Dependency, fault: Fault, inject: Act, heal: Act): Injection => ({
  dependency,
  fault,
  inject: async (fleet) => void (await inject(fleet)),
  heal: async (fleet) => void (await heal(fleet))
})

type ProxyOf = (fleet: Fleet) => FaultProxy
const slow = (dependency: Dependency, proxy: ProxyOf): Injection =>
  injection(
    dependency,
    "slow",
    (fleet) => proxy(fleet).slow(SLOW_MS),
    (fleet) => proxy(fleet).open()
  )
/** Faults of a link alone; the process at its end is well. */
const ofLink = (dependency: Dependency, proxy: ProxyOf): ReadonlyArray<Injection> => {
  const open: Act = (fleet) => proxy(fleet).open()
  return [
    injection(dependency, "down", (fleet) => proxy(fleet).refuse(), open),
    injection(dependency, "hung", (fleet) => proxy(fleet).stall(), open),
    slow(dependency, proxy)
  ]
}

interface Server {
  readonly kill: () => Promise<unknown>
  readonly begin: () => Promise<unknown>
  readonly freeze: () => void
  readonly thaw: () => void
}
/** Faults of a server process, and delay on its link. */
const ofServer = (
  dependency: Dependency,
  server: (fleet: Fleet) => Server,
  proxy: ProxyOf
): ReadonlyArray<Injection> => [
  injection(
    dependency,
    "down",
    (fleet) => server(fleet).kill(),
    (fleet) => server(fleet).begin()
  ),
  injection(
    dependency,
    "hung",
    (fleet) => server(fleet).freeze(),
    (fleet) => server(fleet).thaw()
  ),
  slow(dependency, proxy)
]

/** A fault of the backend process breaks both links at once. "emptied" restarts a server at once, without its data. */
export const plan: ReadonlyArray<Injection> = [
  ...ofLink("sequencer", ({ proxies }) => proxies.sequencer!),
  ...ofLink("referee", ({ proxies }) => proxies.referee!),
  injection(
    "backend",
    "down",
    ({ backend }) => backend.kill(),
    (fleet) => fleet.startBackend()
  ),
  injection(
    "backend",
    "hung",
    ({ backend }) => backend.freeze(),
    ({ backend }) => backend.thaw()
  ),
  ...ofServer(
    "Redis",
    ({ redis }) => redis,
    ({ proxies }) => proxies.redis!
  ),
  ...ofServer(
    "PostgreSQL",
    ({ postgres }) => postgres,
    ({ proxies }) => proxies.postgres!
  ),
  ...ofServer(
    "NATS",
    ({ nats }) => nats!,
    ({ proxies }) => proxies.nats!
  ),
  injection(
    "NATS",
    "emptied",
    async ({ nats }) => {
      await nats!.kill()
      await nats!.begin()
    },
    () => {}
  ),
  injection(
    "Redis",
    "emptied",
    async ({ redis }) => {
      await redis.use((client) => client.flushAll())
      await redis.kill()
      await redis.begin()
    },
    () => {}
  ),
  injection(
    "PostgreSQL",
    "emptied",
    async ({ postgres }) => {
      await postgres.kill()
      await postgres.forget()
      await postgres.begin()
    },
    // a gateway creates its tables when it starts
    async ({ members: [gateway] }) => {
      await gateway!.kill()
      await gateway!.start()
    }
  ),
  injection(
    "backend",
    "emptied",
    async (fleet) => {
      await fleet.backend.kill()
      fleet.forgetBackend()
      await fleet.startBackend()
    },
    () => {}
  )
]
