/**
 * `npm run build`: the packages, in dist/packages. The library is a file a module, so that an app takes only what it uses; the
 * programs are bundled, because they start several times faster so.
 */
import { execFileSync } from "node:child_process"
import { rmSync } from "node:fs"
import http from "node:http"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { build, type Plugin } from "esbuild"
import { assemble } from "./packages/Assemble.ts"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const out = join(root, "dist")

/** Programs and threads. Each finds the threads that it starts beside itself. */
const programs = {
  main: "src/cli/main.ts",
  backend: "src/backend/main.ts",
  relay: "src/layers/nats/main.ts",
  worker: "src/backend/worker.ts",
  SnapshotThread: "src/backend/SnapshotThread.ts",
  ReplayThread: "src/backend/ReplayThread.ts",
  CommitThread: "src/layers/sql/CommitThread.ts"
}

/** Properties of `node:http` that load modules when they are read; no module of the programs uses them. */
const LOADED_LATER = new Set(["CloseEvent", "MessageEvent", "WebSocket", "default"])

/** What is in CommonJS may ask for the modules of Node in its own way. */
const REQUIRE =
  'import { createRequire as $createRequire } from "node:module"; const require = $createRequire(import.meta.url);'

/** An HTTP client that only tests of the platform use; it does not say that it may be left out. */
const withoutUndici: Plugin = {
  name: "without-undici",
  setup: ({ onResolve, resolve }) =>
    onResolve({ filter: /^undici$/ }, async ({ kind, path, pluginData, resolveDir }) =>
      pluginData === withoutUndici
        ? undefined
        : { ...(await resolve(path, { kind, resolveDir, pluginData: withoutUndici })), sideEffects: false }
    )
}

/**
 * An import of `node:http` reads every property of that module, also `WebSocket`, which loads another HTTP client: 36 ms of CPU.
 * The programs take only what follows.
 */
const httpAlone: Plugin = {
  name: "http-alone",
  setup: ({ onLoad, onResolve }) => {
    onResolve({ filter: /^(?:node:)?http$/ }, ({ kind }) =>
      kind === "require-call" ? undefined : { path: "http", namespace: "http-alone" }
    )
    onLoad({ filter: /.*/, namespace: "http-alone" }, () => ({
      contents: `const http = process.getBuiltinModule("node:http")
export default http
export const { ${Object.keys(http)
        .filter((name) => !LOADED_LATER.has(name))
        .join(", ")} } = http`
    }))
  }
}

/** Bundles the programs into a folder. */
export const bundle = async (outdir: string): Promise<void> => {
  const { metafile } = await build({
    absWorkingDir: root,
    entryPoints: programs,
    outdir,
    bundle: true,
    splitting: true,
    metafile: true,
    platform: "node",
    format: "esm",
    target: "node22.19",
    minifySyntax: true,
    minifyWhitespace: true,
    legalComments: "none",
    banner: { js: REQUIRE },
    logLevel: "warning",
    plugins: [withoutUndici, httpAlone]
  })
  // what is loaded only by functions that nobody calls stays behind
  const { outputs } = metafile
  const reached = new Set<string>()
  const reach = (path: string): void => {
    if (reached.has(path)) return
    reached.add(path)
    for (const { path: next } of outputs[path]?.imports ?? []) reach(next)
  }
  for (const [path, { entryPoint }] of Object.entries(outputs))
    if (entryPoint !== undefined && Object.values(programs).includes(entryPoint)) reach(path)
  for (const path of Object.keys(outputs)) if (!reached.has(path)) rmSync(join(root, path))
}

/** Arguments of the compiler by what is wanted; all but the first skip the type check and take a fraction of the time. */
const wanted = {
  "with types": ["-p", "tsconfig.build.json"],
  "without types": ["-p", "tsconfig.build.json", "--noCheck", "--declaration", "false"],
  "declarations of the SDK": ["-p", "tsconfig.sdk.json", "--noCheck"]
}

/** Writes the library, a file a module. */
export const library = (outdir: string, what: keyof typeof wanted): void => {
  execFileSync(join(root, "node_modules/.bin/tsc"), [...wanted[what], "--outDir", outdir], {
    cwd: root,
    stdio: "inherit"
  })
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  rmSync(out, { recursive: true, force: true })
  library(join(out, "build"), "with types")
  await bundle(join(out, "build/bin"))
  await assemble(join(out, "build"), join(out, "packages"))
}
