/** The manifests of the published packages. Version, license and the versions of dependencies are those of package.json. */
import { readFileSync } from "node:fs"

interface Root {
  readonly version: string
  readonly license: string
  readonly repository: { readonly url: string }
  readonly dependencies: Readonly<Record<string, string>>
  readonly [key: string]: unknown
}

export const root = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as Root

const dependencies = (...names: ReadonlyArray<string>) =>
  Object.fromEntries(names.map((name) => [name, root.dependencies[name]!]))

/** One entry of `exports`: a module of dist with its declarations. */
const module = (path: string) => ({ types: `./dist/${path}.d.ts`, default: `./dist/${path}.js` })

/** What each manifest begins with. */
const common = (name: string, description: string, keywords: ReadonlyArray<string>) => ({
  name,
  version: root.version,
  description,
  keywords: ["exchange", "trading", "perpetual-futures", ...keywords],
  license: root.license,
  repository: { ...root.repository, directory: `packages/${name.slice(name.indexOf("/") + 1)}` },
  homepage: root["homepage"],
  bugs: root["bugs"],
  type: "module",
  sideEffects: false,
  files: ["dist"],
  publishConfig: root["publishConfig"]
})

const effect = { peerDependencies: { effect: `^${root.dependencies["effect"]}` } }

export const sdk = {
  ...common(
    "@trading-gateway/sdk",
    "Client of a trading gateway for bots: signing, safe retries, order books, streams that resume",
    ["bot", "client", "websocket"]
  ),
  engines: { node: ">=20.19" },
  exports: { ".": module("sdk/index"), "./package.json": "./package.json" },
  dependencies: dependencies("@noble/ed25519")
}

export const contract = {
  ...common(
    "@trading-gateway/contract",
    "The API of a trading gateway: schemas, HttpApi, RPC groups, proto, OpenAPI, AsyncAPI",
    ["effect", "openapi", "asyncapi", "schema"]
  ),
  engines: { node: ">=20.19" },
  files: ["dist", "proto", "openapi.json", "asyncapi.json"],
  exports: {
    ".": module("Contract"),
    "./domain/*": module("domain/*"),
    "./http/*": module("http/api/*"),
    "./rpc/*": module("rpc/api/*"),
    "./ws/*": module("ws/api/*"),
    "./proto/*": "./proto/*",
    "./openapi.json": "./openapi.json",
    "./asyncapi.json": "./asyncapi.json",
    "./package.json": "./package.json"
  },
  dependencies: dependencies("@noble/hashes"),
  ...effect
}

export const client = {
  ...common(
    "@trading-gateway/client",
    "Typed Effect client of a trading gateway: REST, signing, live books and accounts",
    ["effect", "client", "websocket"]
  ),
  engines: { node: ">=20.19" },
  exports: {
    ".": {
      types: "./dist/client/index.d.ts",
      "module-sync": "./dist/bundle/client/index.js",
      default: "./dist/client/index.js"
    },
    "./package.json": "./package.json"
  },
  dependencies: { "@trading-gateway/contract": root.version, ...dependencies("@noble/ed25519", "@noble/hashes") },
  ...effect
}

/** Fields of package.json that only the repository needs; a Node binary for `npm start` is one of them. */
const DEVELOPMENT = ["private", "scripts", "devDependencies", "optionalDependencies", "allowScripts"]

/** The whole exchange. */
export const gateway = Object.fromEntries(Object.entries(root).filter(([key]) => !DEVELOPMENT.includes(key)))
