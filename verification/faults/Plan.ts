/** What may befall each dependency, and how it is undone. */
import type { Fleet } from "./Fleet.ts"
import type { Way } from "../harness/FaultProxy.ts"

export const dependencies = ["sequencer", "referee", "backend", "Redis", "PostgreSQL", "NATS"] as const
export type Dependency = (typeof dependencies)[number]
export const faults = ["down", "hung", "slow", "emptied"] as const
export type Fault = (typeof faults)[number]

/** How much longer each way takes where it is slow, in ms. */
export const SLOW_MS = 100

export interface Harm {
  readonly dependency: Dependency
  readonly fault: Fault
  readonly strike: (fleet: Fleet) => Promise<void>
  readonly heal: (fleet: Fleet) => Promise<void>
}

type Act = (fleet: Fleet) => unknown
const harm = (dependency: Dependency, fault: Fault, strike: Act, heal: Act): Harm => ({
  dependency,
  fault,
  strike: async (fleet) => void (await strike(fleet)),
  heal: async (fleet) => void (await heal(fleet))
})
/** Of a link: the program at its end is well. */
const link = (dependency: Dependency, way: (fleet: Fleet) => Way): ReadonlyArray<Harm> => {
  const open: Act = (fleet) => way(fleet).open()
  return [
    harm(dependency, "down", (fleet) => way(fleet).close(), open),
    harm(dependency, "hung", (fleet) => way(fleet).hold(), open),
    slow(dependency, way)
  ]
}
const slow = (dependency: Dependency, way: (fleet: Fleet) => Way): Harm =>
  harm(
    dependency,
    "slow",
    (fleet) => way(fleet).slow(SLOW_MS),
    (fleet) => way(fleet).open()
  )

/** Of the backend both links are lost at once; "emptied" is begun anew at once, with nothing. */
export const plan: ReadonlyArray<Harm> = [
  ...link("sequencer", ({ ways }) => ways.sequencer),
  ...link("referee", ({ ways }) => ways.referee),
  harm(
    "backend",
    "down",
    ({ backend }) => backend.kill(),
    (fleet) => fleet.startBackend()
  ),
  harm(
    "backend",
    "hung",
    ({ backend }) => backend.freeze(),
    ({ backend }) => backend.thaw()
  ),
  harm(
    "Redis",
    "down",
    ({ redis }) => redis.kill(),
    ({ redis }) => redis.begin()
  ),
  harm(
    "Redis",
    "hung",
    ({ redis }) => redis.hang(),
    ({ redis }) => redis.goOn()
  ),
  slow("Redis", ({ ways }) => ways.redis),
  harm(
    "PostgreSQL",
    "down",
    ({ postgres }) => postgres.kill(),
    ({ postgres }) => postgres.begin()
  ),
  harm(
    "PostgreSQL",
    "hung",
    ({ postgres }) => postgres.hang(),
    ({ postgres }) => postgres.goOn()
  ),
  slow("PostgreSQL", ({ ways }) => ways.postgres),
  harm(
    "NATS",
    "down",
    ({ nats }) => nats.kill(),
    ({ nats }) => nats.begin()
  ),
  harm(
    "NATS",
    "hung",
    ({ nats }) => nats.hang(),
    ({ nats }) => nats.goOn()
  ),
  slow("NATS", ({ ways }) => ways.nats),
  harm(
    "NATS",
    "emptied",
    async ({ nats }) => {
      await nats.kill()
      await nats.begin()
    },
    () => {}
  ),
  harm(
    "Redis",
    "emptied",
    async ({ redis }) => {
      await redis.use((client) => client.flushAll())
      await redis.kill()
      await redis.begin()
    },
    () => {}
  ),
  harm(
    "PostgreSQL",
    "emptied",
    async ({ postgres }) => {
      await postgres.kill()
      await postgres.forget()
      await postgres.begin()
    },
    // its tables are made by a gateway that starts
    async (fleet) => {
      await fleet.killGateway()
      await fleet.startGateway()
    }
  ),
  harm(
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
