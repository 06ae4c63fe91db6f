#!/usr/bin/env node
/** `gateway`: keeps what Node compiles for the next start, then loads no more than the command needs. */
import { enableCompileCache } from "node:module"

const { directory } = enableCompileCache()
// threads look there
if (directory !== undefined) process.env["NODE_COMPILE_CACHE"] ??= directory
const [command, ...more] = process.argv.slice(2)
const serves = command === undefined || (command === "serve" && more.length === 0)
await (serves ? import("../main.ts") : import("./Run.ts"))
