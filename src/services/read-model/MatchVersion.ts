/**
 * Compares the version of the read model with that of this gateway. A newer read model must neither be written nor numbered on:
 * the gateway waits. An older one is replaced.
 */
import { Duration, Effect } from "effect"
import { ReadModelVersion } from "../History.ts"
import type { HistoryWriter } from "./HistoryWriter.ts"
import { insist } from "../operations/Insist.ts"
import { upgradeReadModel } from "./RebuildReadModel.ts"

/** How often a gateway reads whether the read model still has a newer version than its own. */
const NEWER_PAUSE = Duration.seconds(2)

/**
 * Completes once the version is this gateway's. Returns the head to reach where it replaced the read model.
 * `onOther` runs each time another version is found.
 */
export const matchVersion = Effect.fnUntraced(function* (
  writer: HistoryWriter["Service"],
  onOther: (isOlder: boolean) => void
) {
  const version = yield* ReadModelVersion
  let head: number | undefined
  let isLogged = false
  while (true) {
    const at = yield* insist("reading the position of the read model", writer.stored.position)
    if (at?.version === undefined || at.version === version) return head
    onOther(at.version < version)
    if (at.version < version) {
      head = yield* insist("replacing the read model", upgradeReadModel(writer, at, version))
      continue
    }
    if (!isLogged)
      yield* Effect.logError(
        `the read model has version ${at.version}, this gateway has version ${version}: it writes and shows no events. ` +
          "Replace it by the newer version, or take the way back of docs/operations/upgrade.md#go-back"
      )
    isLogged = true
    yield* writer.yieldLead
    yield* Effect.sleep(NEWER_PAUSE)
  }
})
