/** The engine as the journal and the servers see it. */
import * as Engine from "./Engine.ts"
import type { Machine } from "./Machine.ts"
import * as Reads from "./Reads.ts"
import * as Snapshot from "./Snapshot.ts"

/** What of the configuration the journal keeps; its epoch is the journal's own. */
export type Config = Omit<Engine.EngineConfig, "epoch">

export const machine: Machine<Engine.State, Config> = {
  rules: Engine.RULES,
  upgrades: [],
  initial: (config, epoch, links) => Engine.initial({ ...config, epoch }, links),
  dump: Snapshot.dump,
  load: (config, epoch, links, bytes) => Snapshot.load({ ...config, epoch }, bytes, links),
  apply: Engine.apply,
  hash: Engine.hash,
  tickMatters: Engine.tickMatters,
  headSeq: Reads.headSeq
}
