#!/usr/bin/env node
/** `gateway`: enables Node's compile cache, then loads only what the command needs. */
import { enableCompileCache } from "node:module"

const { directory } = enableCompileCache()
// worker threads read this variable
if (directory !== undefined) process.env["NODE_COMPILE_CACHE"] ??= directory
const [command, ...more] = process.argv.slice(2)
const serves = command === undefined || (command === "serve" && more.length === 0)
await (serves ? import("../main.ts") : import("./Run.ts"))
