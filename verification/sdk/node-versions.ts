/**
 * Runs the plain client's story in other Nodes against a gateway of this one: `node verification/sdk/node-versions.ts [22 24 ...]`. Each is
 * installed from the registry into a folder of its own.
 */
import { execFileSync } from "node:child_process"
import { mkdtempSync, rmSync, writeFileSync } from "node:fs"
import { tmpdir } from "node:os"
import { join } from "node:path"
import { program } from "./Story.ts"
import { startGateway } from "../harness/GatewayProcess.ts"
import { bundlePlain } from "../harness/SdkBundle.ts"

const versions = process.argv.length > 2 ? process.argv.slice(2) : ["22", "24"]
const folder = mkdtempSync(join(tmpdir(), "plain-nodes-"))
const gateway = await startGateway({
  dataDir: join(folder, "data"),
  env: { SIM_MAKER: "off", INDEX_SOURCE: "manual", LOG_LEVEL: "error" }
})
try {
  const story = join(folder, "story.mjs")
  writeFileSync(story, (await bundlePlain(program)).code)
  const platform = process.platform === "win32" ? "win" : process.platform
  for (const version of versions) {
    const home = join(folder, version)
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
  rmSync(folder, { recursive: true, force: true })
}
