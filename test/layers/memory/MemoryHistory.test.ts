import * as MemoryHistory from "../../../src/layers/memory/MemoryHistory.ts"
import { suite } from "../../contracts/HistoryContract.ts"

suite("memory", MemoryHistory.layer)
