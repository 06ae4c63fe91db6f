/** The ports that a process implements alone: signatures, signing keys, randomness and process metrics. */
import { Layer } from "effect"
import type { Settings } from "../Settings.ts"
import * as NodeIds from "./NodeIds.ts"
import * as NodePasswordHashes from "./NodePasswordHashes.ts"
import * as NodeSignatures from "./NodeSignatures.ts"
import * as NodeSigningKeys from "./NodeSigningKeys.ts"
import * as ProcessMetrics from "./ProcessMetrics.ts"

export const layer = (settings: Settings) =>
  Layer.mergeAll(
    NodeSignatures.layer(),
    NodePasswordHashes.layer,
    NodeSigningKeys.layer({
      seed: settings.jwtSigningKey,
      verifyKeys: settings.jwtVerifyKeys?.split(",").map((key) => key.trim()) ?? [],
      dataDir: settings.dataDir
    }),
    NodeIds.layer,
    ProcessMetrics.layer
  )
