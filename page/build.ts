/**
 * `npm run page`: bundles the page into page/dist, from where the gateway serves it. File names contain a hash of the content;
 * each file has a gzip and a brotli variant. npm runs it after an installation (`prepare`).
 *
 * Without the bundler, a development dependency, it prints a message and changes nothing.
 */
import { createHash } from "node:crypto"
import { existsSync, mkdirSync, readdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs"
import { fileURLToPath } from "node:url"
import { brotliCompressSync, constants, gzipSync } from "node:zlib"

const here = fileURLToPath(new URL(".", import.meta.url))
const dist = fileURLToPath(new URL("dist/", import.meta.url))

/** Sizes of one file, in bytes. */
export interface Built {
  readonly name: string
  readonly raw: number
  readonly gzip: number
  readonly brotli: number
}

/** The bundler, if it works here: its binary is in an optional package. */
const bundler = async () => {
  try {
    const esbuild = await import("esbuild")
    await esbuild.transform("")
    return esbuild
  } catch {
    return undefined
  }
}

const hashOf = (bytes: Uint8Array): string => createHash("sha256").update(bytes).digest("hex").slice(0, 10)

/** Writes a file atomically. */
const put = (name: string, bytes: Uint8Array): void => {
  const draft = `${dist}${name}.${process.pid}.tmp`
  writeFileSync(draft, bytes)
  renameSync(draft, `${dist}${name}`)
}

/** Writes a file after its compressed variants. Leaves an unchanged file alone: a gateway may be reading it. */
const write = (name: string, bytes: Uint8Array): Built => {
  const gzip = gzipSync(bytes, { level: 9 })
  const brotli = brotliCompressSync(bytes, { params: { [constants.BROTLI_PARAM_QUALITY]: 11 } })
  const isThere = existsSync(`${dist}${name}`) && readFileSync(`${dist}${name}`).equals(bytes)
  if (!isThere) {
    put(`${name}.gz`, gzip)
    put(`${name}.br`, brotli)
    put(name, bytes)
  }
  return { name, raw: bytes.length, gzip: gzip.length, brotli: brotli.length }
}

/** Builds the page; `undefined`: no bundler. */
export const build = async (): Promise<ReadonlyArray<Built> | undefined> => {
  const esbuild = await bundler()
  mkdirSync(dist, { recursive: true })
  if (esbuild === undefined) return undefined
  const { outputFiles } = await esbuild.build({
    entryPoints: [`${here}main.ts`, `${here}style.css`],
    outdir: dist,
    absWorkingDir: here,
    bundle: true,
    write: false,
    minify: true,
    format: "esm",
    target: "es2022",
    legalComments: "none",
    define: { "process.env.NODE_ENV": '"production"' }
  })
  const sources = [
    ...outputFiles.map(({ path, contents }) => [path.slice(dist.length), contents] as const),
    ["icon.svg", readFileSync(`${here}icon.svg`)] as const
  ]
  let index = readFileSync(`${here}index.html`, "utf8")
  const assets = sources.map(([name, bytes]) => {
    const [stem, type] = name.split(".")
    const hashed = `${stem}-${hashOf(bytes)}.${type}`
    index = index.replaceAll(`"/page/${name}"`, `"/page/${hashed}"`)
    return write(hashed, bytes)
  })
  const built = [...assets, write("index.html", Buffer.from(index))]
  const names = new Set(built.flatMap(({ name }) => [name, `${name}.gz`, `${name}.br`]))
  for (const name of readdirSync(dist)) if (!names.has(name)) rmSync(`${dist}${name}`, { force: true })
  return built
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const built = await build()
  if (built === undefined)
    console.log("page: the bundler (esbuild) is not installed; / will explain how to build the page")
  for (const { brotli, gzip, name, raw } of built ?? [])
    console.log(`page/dist/${name}: ${raw} bytes, gzip ${gzip}, brotli ${brotli}`)
}
