/** The plain client bundled into one file, as a bot or a page would ship it. */
import { build } from "esbuild"
import { dirname } from "node:path"
import { fileURLToPath } from "node:url"
import { gzipSync } from "node:zlib"

const root = dirname(dirname(dirname(fileURLToPath(import.meta.url))))

/** Most bytes that it may have, minified and compressed. */
export const BYTES_MAX = 15_000

export interface Bundle {
  readonly code: string
  /** Files that are in it, below the project; of packages the name, as in `node_modules/effect`. */
  readonly inputs: ReadonlyArray<string>
}

/** Bundles a text that imports from `src`; by default all of the plain client. */
export const bundlePlain = async (
  contents = 'export * from "./src/sdk/index.ts"',
  format: "esm" | "iife" = "esm"
): Promise<Bundle> => {
  const { metafile, outputFiles } = await build({
    stdin: { contents, resolveDir: root, loader: "ts", sourcefile: "entry.ts" },
    absWorkingDir: root,
    bundle: true,
    minify: true,
    format,
    platform: "browser",
    target: "es2024",
    write: false,
    metafile: true
  })
  // what was read and left no byte is not in it
  const [output] = Object.values(metafile.outputs)
  const inputs = Object.entries(output!.inputs).flatMap(([path, { bytesInOutput }]) =>
    bytesInOutput > 0 ? [path] : []
  )
  return { code: outputFiles[0]!.text, inputs: inputs.map((path) => path.replace(/^.*(?=node_modules\/)/u, "")) }
}

/** Bytes of a text as `gzip -9` makes it. */
export const compressed = (code: string): number => gzipSync(code, { level: 9 }).length
