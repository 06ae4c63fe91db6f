import { Presence } from "../../../src/services/operations/Presence.ts"
import * as PresenceContract from "../../contracts/PresenceContract.ts"

PresenceContract.suite("one gateway", Presence.layer)
