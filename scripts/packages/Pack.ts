/** Packs a package as it is published. */
import { execFileSync } from "node:child_process"
import { delimiter, dirname, join } from "node:path"

/** The Node of this process first: it is the one that `npm` and `npx` shall find. */
export const env = { ...process.env, PATH: [dirname(process.execPath), process.env["PATH"] ?? ""].join(delimiter) }

export interface Packed {
  readonly tarball: string
  readonly files: ReadonlyArray<string>
  readonly bytes: number
  readonly unpacked: number
}

/** Packs the package in `home` into a folder. */
export const pack = (folder: string, home: string): Packed => {
  const output = execFileSync("npm", ["pack", "--json", "--silent", "--ignore-scripts", "--pack-destination", folder], {
    cwd: home,
    env,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    stdio: ["ignore", "pipe", "inherit"]
  })
  const parsed = JSON.parse(output.slice(output.search(/^[[{]/mu))) as unknown
  const [packed] = (Array.isArray(parsed) ? parsed : Object.values(parsed as object)) as ReadonlyArray<{
    readonly filename: string
    readonly size: number
    readonly unpackedSize: number
    readonly files: ReadonlyArray<{ readonly path: string }>
  }>
  return {
    // the name of a scoped package is printed with its scope
    tarball: join(folder, packed!.filename.replace("@", "").replaceAll("/", "-")),
    files: packed!.files.map(({ path }) => path),
    bytes: packed!.size,
    unpacked: packed!.unpackedSize
  }
}
