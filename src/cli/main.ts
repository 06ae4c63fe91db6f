#!/usr/bin/env node
/** `gateway`: enables Node's compile cache, then loads only what the command needs. */
import * as module from "node:module"

const [major = 0, minor = 0] = process.versions.node.split(".").map(Number)
if (major < 22 || (major === 22 && minor < 19)) {
  console.error(
    `trading-gateway needs Node 22.19 or newer, and this is ${process.version}: install Node 24 from https://nodejs.org`
  )
  process.exit(1)
}
const { directory } = module.enableCompileCache()
// worker threads read this variable
if (directory !== undefined) process.env["NODE_COMPILE_CACHE"] ??= directory
const [command, ...more] = process.argv.slice(2)
const serves = command === undefined || (command === "serve" && more.length === 0)
await (serves ? import("../main.ts") : import("./Run.ts"))
