/** Loads the changed texts of sources in the processes and threads that tests start, as an `--import` of NODE_OPTIONS. */
import { registerHooks } from "node:module"
import { fileURLToPath } from "node:url"
import { read } from "./Sources.ts"

const sources = read()

registerHooks({
  load: (url, context, next) => {
    const source = url.startsWith("file:") ? sources[fileURLToPath(url)] : undefined
    return source === undefined ? next(url, context) : { format: "module-typescript", shortCircuit: true, source }
  }
})
