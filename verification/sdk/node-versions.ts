/**
 * Runs the plain client's story in other versions of Node against a gateway of this one:
 * `node verification/sdk/node-versions.ts [22 24 ...]`. Each version is installed from the registry into a temporary folder.
 */
import { execFileSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { startGateway } from "../harness/GatewayProcess.ts"
import { temporaryFolder } from "../harness/Programs.ts"
import { bundlePlain } from "../harness/SdkBundle.ts"
import { QUIET_MARKET } from "../harness/Settings.ts"
import { program } from "./Story.ts"

const versions = process.argv.length > 2 ? process.argv.slice(2) : ["22", "24"]
const folder = temporaryFolder("node-versions")
const gateway = await startGateway({ dataDir: join(folder.path, "data"), env: QUIET_MARKET })
try {
  const story = join(folder.path, "story.mjs")
  writeFileSync(story, (await bundlePlain(program)).code)
  const platform = process.platform === "win32" ? "win" : process.platform
  for (const version of versions) {
    const home = join(folder.path, version)
    const name = `node-${platform}-${process.arch}`
    execFileSync("npm", ["install", "--silent", "--no-save", "--prefix", home, `${name}@${version}`], {
      stdio: "inherit"
    })
    const node = join(home, "node_modules", name, "bin", platform === "win" ? "node.exe" : "node")
    const exact = execFileSync(node, ["--version"], { encoding: "utf8" }).trim()
    console.log(exact, execFileSync(node, [story, gateway.url], { encoding: "utf8" }).trim())
  }
} finally {
  await gateway.kill()
  folder.remove()
}
