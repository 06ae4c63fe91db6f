/** Packs each package of dist/packages into dist, for the checks of `npm run package:check`. */
import { readdirSync } from "node:fs"
import { join } from "node:path"
import { fileURLToPath } from "node:url"
import { pack } from "./Pack.ts"

const dist = fileURLToPath(new URL("../../dist", import.meta.url))
for (const name of readdirSync(join(dist, "packages"))) {
  const { bytes, unpacked } = pack(dist, join(dist, "packages", name))
  console.log(`${name}: ${bytes} bytes packed, ${unpacked} unpacked`)
}
