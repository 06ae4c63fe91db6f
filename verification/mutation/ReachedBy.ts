/** Names the test file of this process for {@link Reached}, also to the processes that it starts. */
import { expect } from "vitest"
import "./Reached.ts"

process.env["REACHED_BY"] = expect.getState().testPath
