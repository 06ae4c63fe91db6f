/** The engine behind the {@link Machine} interface. */
import * as Engine from "./Engine.ts"
import type { Machine } from "./Machine.ts"
import * as Reads from "./Reads.ts"
import * as Snapshot from "./state/Snapshot.ts"

/** The configuration without the epoch, which the journal stores separately. */
export type Config = Omit<Engine.EngineConfig, "epoch">

export const machine: Machine<Engine.State, Config> = {
  rules: Engine.RULES,
  upgrades: ["gateway-engine-5"],
  initial: (config, epoch, links) => Engine.initial({ ...config, epoch }, links),
  dump: Snapshot.dump,
  load: (config, epoch, links, bytes) => Snapshot.load({ ...config, epoch }, bytes, links),
  apply: Engine.apply,
  start: Engine.start,
  hash: Engine.hash,
  hashSlices: Engine.hashSlices,
  tickMatters: Engine.tickMatters,
  headSeq: Reads.headSeq
}
