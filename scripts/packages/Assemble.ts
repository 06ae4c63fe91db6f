/**
 * Assembles the published packages from what the compiler emitted. The source tree is one; a package is a selection of its modules,
 * with imports of other packages by their names.
 */
import { build } from "esbuild"
import { cpSync, existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs"
import { dirname, join, posix } from "node:path"
import { fileURLToPath } from "node:url"
import { namespaceImports } from "./EffectImports.ts"
import { client, contract, gateway, sdk } from "./Manifests.ts"
import { methodTypes, sdkTypes } from "./SdkTypes.ts"

const home = fileURLToPath(new URL("../../", import.meta.url))

/** Folders of the contract, and below which name another package imports them. */
const contractFolders: Readonly<Record<string, string>> = {
  domain: "domain",
  "http/api": "http",
  "rpc/api": "rpc",
  "ws/api": "ws"
}

const isModule = (path: string): boolean => path.endsWith(".js") || path.endsWith(".d.ts")
const below = (folder: string): ReadonlyArray<string> =>
  readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name))

/** Rewrites the relative specifiers of a module. */
const relink = (text: string, target: (specifier: string) => string): string =>
  text.replaceAll(
    /((?:\bfrom|^import)\s*|\bimport\()"(\.[^"]+)"/gmu,
    (_, before: string, specifier: string) => `${before}"${target(specifier)}"`
  )
const asJavaScript = (specifier: string): string => specifier.replace(/\.ts$/u, ".js")
const withoutMap = (text: string): string => text.replace(/^\/\/# sourceMappingURL=.*\n?/mu, "")

/** Writes a package: its manifest, the license, and its own page as README. */
const begin = (out: string, name: string, manifest: object): string => {
  const folder = join(out, name)
  mkdirSync(join(folder, "dist"), { recursive: true })
  writeFileSync(join(folder, "package.json"), `${JSON.stringify(manifest, undefined, 2)}\n`)
  cpSync(join(home, "LICENSE"), join(folder, "LICENSE"))
  cpSync(join(home, name === "gateway" ? "." : `packages/${name}`, "README.md"), join(folder, "README.md"))
  return folder
}

/** Copies modules of some folders; imports of the contract from outside become imports of its package. */
const copyModules = (built: string, folder: string, folders: ReadonlyArray<string>): void => {
  for (const part of folders) {
    for (const path of below(join(built, part)).filter(isModule)) {
      const inside = path.slice(built.length + 1)
      const isOwn = (target: string) => folders.some((own) => target.startsWith(`${own}/`))
      const text = relink(withoutMap(readFileSync(path, "utf8")), (specifier) => {
        const target = posix.join(posix.dirname(inside), specifier)
        const foreign = Object.keys(contractFolders).find((other) => target.startsWith(`${other}/`))
        return isOwn(target) || foreign === undefined
          ? asJavaScript(specifier)
          : `${contract.name}/${contractFolders[foreign]}/${target.slice(foreign.length + 1).replace(/\.[jt]s$/u, "")}`
      })
      mkdirSync(dirname(join(folder, "dist", inside)), { recursive: true })
      writeFileSync(join(folder, "dist", inside), namespaceImports(text))
    }
  }
}

/**
 * Bundles what Node imports into a few files: it takes as long to find and link a module as to run it. Other bundlers get a file a
 * module, so that an app takes only what it uses. Packages that it depends on stay outside.
 */
const bundleForNode = async (dist: string, entries: Readonly<Record<string, string>>): Promise<void> => {
  await build({
    entryPoints: Object.fromEntries(Object.entries(entries).map(([to, from]) => [to, join(dist, `${from}.js`)])),
    outdir: join(dist, "bundle"),
    bundle: true,
    splitting: true,
    format: "esm",
    platform: "node",
    target: "node20.19",
    packages: "external",
    sourcemap: true,
    sourcesContent: false,
    legalComments: "none",
    logLevel: "warning"
  })
}

export const assembleContract = (built: string, out: string): void => {
  const folder = begin(out, "contract", contract)
  copyModules(built, folder, Object.keys(contractFolders))
  for (const name of ["Contract.js", "Contract.d.ts"])
    if (existsSync(join(built, name)))
      writeFileSync(
        join(folder, "dist", name),
        relink(withoutMap(readFileSync(join(built, name), "utf8")), asJavaScript)
      )
  cpSync(join(home, "proto"), join(folder, "proto"), { recursive: true })
  for (const name of ["openapi.json", "asyncapi.json"]) cpSync(join(home, "docs", name), join(folder, name))
}

export const assembleClient = async (built: string, out: string): Promise<void> => {
  const folder = begin(out, "client", client)
  copyModules(built, folder, ["client"])
  await bundleForNode(join(folder, "dist"), { "client/index": "client/index" })
}

/** Declarations of the SDK: its own, those of the client that it reaches, and the generated ones for all others. */
const sdkDeclarations = (built: string, folder: string): void => {
  const shared = /^(?:sdk|client)\/|^domain\/Book\.ts$/u
  const seen = new Set<string>()
  const copy = (path: string): void => {
    if (seen.has(path)) return
    seen.add(path)
    const source =
      path === "sdk/Methods.ts" ? methodTypes : readFileSync(join(built, path.replace(/\.ts$/u, ".d.ts")), "utf8")
    const text = relink(source, (specifier) => {
      const target = posix.join(posix.dirname(path), specifier.replace(/\.js$/u, ".ts"))
      if (target === "types.ts") return asJavaScript(specifier)
      if (!shared.test(target)) return posix.relative(posix.dirname(path), "types.js")
      copy(target)
      return asJavaScript(specifier)
    })
    const to = join(folder, "dist", path.replace(/\.ts$/u, ".d.ts"))
    mkdirSync(dirname(to), { recursive: true })
    writeFileSync(to, text)
  }
  copy("sdk/index.ts")
  writeFileSync(join(folder, "dist/types.d.ts"), sdkTypes())
}

export const assembleSdk = async (built: string, out: string): Promise<void> => {
  const folder = begin(out, "sdk", sdk)
  await build({
    entryPoints: [join(home, "src/sdk/index.ts")],
    outfile: join(folder, "dist/sdk/index.js"),
    bundle: true,
    format: "esm",
    platform: "neutral",
    target: "es2022",
    external: Object.keys(sdk.dependencies),
    legalComments: "none",
    logLevel: "warning"
  })
  sdkDeclarations(built, folder)
}

/** What Node imports of the exchange, besides its domain. */
const entries = ["index", "client/index", "sdk/index", "rpc/api/Rpcs"]
/** Its threads: a module finds each beside itself. */
const threads = ["backend/worker", "backend/SnapshotThread", "backend/ReplayThread", "layers/sql/CommitThread"]

export const assembleGateway = async (built: string, out: string): Promise<void> => {
  const folder = begin(out, "gateway", gateway)
  for (const path of below(built)) {
    const inside = path.slice(built.length + 1)
    mkdirSync(dirname(join(folder, "dist", inside)), { recursive: true })
    if (path.endsWith(".js") && !inside.startsWith("bin/"))
      writeFileSync(join(folder, "dist", inside), namespaceImports(readFileSync(path, "utf8")))
    else cpSync(path, join(folder, "dist", inside))
  }
  for (const name of gateway["files"] as ReadonlyArray<string>)
    if (name !== "dist" && existsSync(join(home, name)))
      cpSync(join(home, name), join(folder, name), { recursive: true })
  const domain = readdirSync(join(built, "domain")).filter((name) => name.endsWith(".js"))
  await bundleForNode(join(folder, "dist"), {
    ...Object.fromEntries(
      [...entries, ...domain.map((name) => `domain/${name.slice(0, -3)}`)].map((path) => [path, path])
    ),
    ...Object.fromEntries(threads.map((path) => [posix.basename(path), path]))
  })
}

/** Assembles all packages, each in a folder of `out`, from the modules in `built`. */
export const assemble = async (built: string, out: string): Promise<void> => {
  assembleContract(built, out)
  await assembleClient(built, out)
  await assembleSdk(built, out)
  await assembleGateway(built, out)
}
