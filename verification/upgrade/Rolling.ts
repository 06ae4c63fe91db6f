/**
 * A fleet of the earlier version under load, whose gateways are replaced one by one by this version, and one of them back again.
 * The backend is of this version, because it is upgraded first.
 */
import { Fleet } from "../harness/Fleet.ts"
import { root } from "../harness/NodeProcess.ts"
import { UNLIMITED } from "../harness/Settings.ts"
import { type Outcome, type Options as Load, underLoad } from "../fleet/UnderLoad.ts"
import { earlierSources } from "./Versions.ts"

export interface Options extends Omit<Load, "restarts" | "kills"> {
  readonly gateways: number
  /** Gateways that are replaced by the earlier version again. */
  readonly back: number
  /** The backend is of the earlier version, too. */
  readonly isBackendEarlier: boolean
}

export interface Upgraded extends Outcome {
  /** The version of the program at each start, in order. */
  readonly starts: ReadonlyArray<string>
}

/** Longest start on a busy machine, in ms. */
const READY_MS = 120_000

export const upgrade = async ({ back, gateways, isBackendEarlier, ...load }: Options): Promise<Upgraded> => {
  const earlier = earlierSources()
  const starts: Array<string> = []
  // the first starts are of the earlier version, then each gateway is replaced once, then some go back
  const homeOf = (name: string): string => {
    const n = starts.length
    const isEarlier = n < gateways || n >= 2 * gateways
    starts.push(`${name} ${isEarlier ? "earlier" : "this"}`)
    return isEarlier ? earlier.home : root
  }
  try {
    const fleet = await Fleet.start({
      gateways,
      nats: true,
      balanced: true,
      env: { ...UNLIMITED, DRAIN_MS: "5000" },
      homeOf,
      ...(isBackendEarlier ? { backendHome: earlier.home } : {}),
      ready_ms: READY_MS,
      say: load.say
    })
    try {
      const outcome = await underLoad(fleet, { ...load, restarts: gateways + back, kills: 0 })
      return { ...outcome, starts }
    } finally {
      await fleet.close()
    }
  } finally {
    earlier.remove()
  }
}
