/** Where the programs of PostgreSQL are on this machine, if they are. */
import { existsSync, readdirSync } from "node:fs"
import { join } from "node:path"

/** The folder with `initdb` and `postgres`, where Debian and others keep them; the newest version first. */
export const binaries = (): string | undefined => {
  const versions = "/usr/lib/postgresql"
  const folders = existsSync(versions)
    ? readdirSync(versions)
        .toSorted((a, b) => Number(b) - Number(a))
        .map((version) => join(versions, version, "bin"))
    : []
  return [...folders, "/usr/local/pgsql/bin", "/usr/local/bin", "/usr/bin"].find((folder) =>
    ["initdb", "postgres"].every((program) => existsSync(join(folder, program)))
  )
}
