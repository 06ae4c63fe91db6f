/**
 * Runs the plain client's story in other versions of Node against a gateway of this one:
 * `node verification/sdk/node-versions.ts [20 22 24 ...]`. Each version is installed from the registry into a temporary folder. One
 * that has no WebSocket gets that of the package ws.
 */
import { execFileSync, spawnSync } from "node:child_process"
import { writeFileSync } from "node:fs"
import { join } from "node:path"
import { startGateway } from "../harness/GatewayProcess.ts"
import { temporaryFolder } from "../harness/Programs.ts"
import { bundlePlain } from "../harness/SdkBundle.ts"
import { QUIET_MARKET } from "../harness/Settings.ts"
import { program } from "./Story.ts"

const versions = process.argv.length > 2 ? process.argv.slice(2) : ["20", "22", "24"]
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
    const hasWebSocket = execFileSync(node, ["-p", "typeof WebSocket"], { encoding: "utf8" }).trim() === "function"
    const options = hasWebSocket ? [] : [import.meta.resolve("ws")]
    const { status, stdout, stderr } = spawnSync(node, [story, gateway.url, ...options], { encoding: "utf8" })
    // the frame of an error is a line of the bundle
    const reason = stderr.split("\n").filter((line) => line.length < 300)
    console.log(`${exact}${hasWebSocket ? "" : " with ws"}:`, status === 0 ? stdout.trim() : reason.join("\n"))
    if (status !== 0) process.exitCode = 1
  }
} finally {
  await gateway.kill()
  folder.remove()
}
