/** Runs test files for {@link Runner} in one Vitest that stays, so that only changed sources are transformed again. */
import { join, relative } from "node:path"
import { inspect } from "node:util"
import { createVitest, type TestModule } from "vitest/node"
import type { Request, Response, TestFile } from "./Runner.ts"
import * as Sources from "./Sources.ts"

const root = join(import.meta.dirname, "../..")

const resultOf = (module: TestModule): TestFile => {
  const failed: Array<readonly [name: string, message: string]> = []
  for (const test of module.children.allTests("failed")) {
    failed.push([test.fullName, test.result().errors?.[0]?.message ?? ""])
  }
  for (const error of module.errors()) failed.push([module.relativeModuleId, error.message])
  const { collectDuration, duration } = module.diagnostic()
  return { path: module.relativeModuleId, ms: Math.round(collectDuration + duration), failed }
}

const vitest = await createVitest({
  root,
  config: join(import.meta.dirname, "vitest.config.ts"),
  configLoader: "runner",
  watch: false,
  reporters: [{}]
})
const known = new Map((await vitest.globTestSpecifications()).map((each) => [relative(root, each.moduleId), each]))
let planted: Sources.Sources = {}

const run = async ({ bail, sources, tests }: Request): Promise<Response> => {
  Sources.write(sources)
  for (const path of [...Object.keys(planted), ...Object.keys(sources)]) vitest.invalidateFile(path)
  planted = sources
  vitest.config.bail = bail
  vitest.state.filesMap.clear()
  vitest.state.idMap.clear()
  const { testModules, unhandledErrors } = await vitest.runTestSpecifications(tests.map((test) => known.get(test)!))
  return { files: testModules.map(resultOf), errors: unhandledErrors.map((error) => inspect(error, { depth: 0 })) }
}

// it leads a group of processes, which end with the runner
process.once("disconnect", () => process.kill(-process.pid, "SIGKILL"))
process.on("message", (request: Request) => {
  void run(request).then(
    (response) => process.send!(response),
    (cause: unknown) => {
      throw cause
    }
  )
})
