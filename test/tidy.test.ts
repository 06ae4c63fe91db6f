/** House rules that matter: import directions, names, generated files, things that must not be committed. */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { dirname, join, relative, resolve } from "node:path"
import { fileURLToPath } from "node:url"
import { assert, describe, it } from "vitest"
import * as asyncapi from "../scripts/generate-asyncapi.ts"
import * as openapi from "../scripts/generate-openapi.ts"
import { stale } from "../scripts/generate-proto.ts"
import * as python from "../scripts/generate-python.ts"
import { isCurrent as isPictureCurrent } from "../scripts/generate-statuses.ts"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const tracked = execFileSync("git", ["ls-files", "--cached", "--others", "--exclude-standard"], {
  cwd: root,
  encoding: "utf8"
})
  .split("\n")
  .filter((path) => path !== "")
const sources = tracked.filter((path) => path.startsWith("src/") && path.endsWith(".ts"))

/** What a module imports; without `types`, what of it is there when the types are stripped. */
const importsOf = (path: string, types = true): ReadonlyArray<string> => {
  const whole = readFileSync(join(root, path), "utf8")
  const text = types ? whole : whole.replaceAll(/^(?:import|export) type\b/gmu, "type")
  const found = text.matchAll(
    /(?:^|\n)(?:import|export)\b[^"';]*?\bfrom\s*"([^"]+)"|import\("([^"]+)"\)|(?:^|\n)import\s+"([^"]+)"/gu
  )
  return [...found].map((match) => match[1] ?? match[2] ?? match[3]!)
}

/** Imports between the project's own modules. */
const imports: ReadonlyArray<readonly [from: string, to: string]> = tracked
  .filter((path) => /^(?:src|test|verification|scripts|bench|page|conformance)\/.*\.ts$/u.test(path))
  .flatMap((path) =>
    importsOf(path)
      .filter((target) => target.startsWith("."))
      .map((target) => [path, relative(root, resolve(root, dirname(path), target))] as const)
  )
  // programs that a module holds as text have imports of their own
  .filter(([from, to]) => from !== to && tracked.includes(to))

/**
 * The folders that an import connects: the first parts in which both paths differ. A file and a folder beside it are no pair of
 * folders, so that a folder may import the folders within it, and these may import it.
 */
const folders = ([from, to]: readonly [string, string]): ReadonlyArray<readonly [string, string]> => {
  const [a, b] = [from.split("/"), to.split("/")]
  const level = a.findIndex((part, i) => part !== b[i])
  if (level >= a.length - 1 || level >= b.length - 1) return []
  return [[a.slice(0, level + 1).join("/"), b.slice(0, level + 1).join("/")]]
}

/** The circles of a directed graph: its strongly connected components of two nodes or more, sorted. Tarjan's algorithm. */
const circlesOf = (edges: ReadonlyArray<readonly [string, string]>): ReadonlyArray<ReadonlyArray<string>> => {
  const next = new Map<string, Set<string>>()
  for (const [from, to] of edges) {
    next.set(from, (next.get(from) ?? new Set()).add(to))
    if (!next.has(to)) next.set(to, new Set())
  }
  const order = new Map<string, number>()
  const low = new Map<string, number>()
  const stack: Array<string> = []
  const circles: Array<ReadonlyArray<string>> = []
  const visit = (node: string): void => {
    order.set(node, order.size)
    low.set(node, order.get(node)!)
    stack.push(node)
    for (const target of next.get(node)!) {
      if (!order.has(target)) visit(target)
      if (stack.includes(target)) low.set(node, Math.min(low.get(node)!, low.get(target)!))
    }
    if (low.get(node) !== order.get(node)) return
    const circle = stack.splice(stack.indexOf(node)).toSorted()
    if (circle.length > 1) circles.push(circle)
  }
  for (const node of next.keys()) if (!order.has(node)) visit(node)
  return circles.toSorted(([a], [b]) => (a! < b! ? -1 : 1))
}

/** The room of a path: the longest prefix of src that is one. */
const rooms = [
  "proto",
  "node",
  "domain",
  "services",
  "http/api",
  "http",
  "ws/api",
  "ws",
  "rpc/api",
  "rpc",
  "layers/grpc",
  "layers",
  "client",
  "sdk",
  "cli",
  "backend"
] as const
type Room = (typeof rooms)[number] | "entry"
const roomOf = (path: string): Room => {
  const inside = relative(join(root, "src"), resolve(root, path))
  return rooms.find((room) => inside.startsWith(`${room}/`)) ?? "entry"
}

/** What each room may import of the others. The stack that starts the embedded backend is the one exception. */
const allowed: Record<Room, ReadonlyArray<Room>> = {
  proto: ["proto"],
  // helpers over Node that the gateway and the backend share
  node: ["node"],
  domain: ["domain"],
  services: ["services", "domain"],
  "http/api": ["http/api", "domain"],
  http: ["http", "http/api", "services", "domain"],
  "ws/api": ["ws/api", "domain"],
  ws: ["ws", "ws/api", "services", "domain"],
  // the procedures are derived from the endpoints and topics
  "rpc/api": ["rpc/api", "http/api", "ws/api", "domain"],
  rpc: ["rpc", "rpc/api", "http/api", "ws/api", "services", "domain"],
  "layers/grpc": ["layers/grpc", "proto", "services", "domain", "node"],
  layers: ["layers", "layers/grpc", "services", "domain", "node"],
  client: ["client", "http/api", "ws/api", "rpc/api", "domain"],
  // types from anywhere here; what runs of it is held further down
  sdk: ["sdk", "client", "http/api", "ws/api", "domain"],
  cli: ["cli", "client", "http/api", "ws/api", "domain"],
  backend: ["backend", "proto", "domain", "node"],
  entry: [
    "entry",
    "domain",
    "services",
    "http",
    "http/api",
    "ws",
    "ws/api",
    "rpc",
    "rpc/api",
    "layers",
    "layers/grpc",
    "client",
    "sdk"
  ]
}
const stacks = new Set(["src/layers/Standalone.ts", "src/layers/Cluster.ts"])
/** Stacks put the doors together with what is behind them. */
const stackRooms: ReadonlyArray<Room> = ["backend", "http", "ws"]
/** What the command line takes of other rooms: the programs that it starts, what they read, and the gateway's own verifier. */
const ofCommandLine = new Set([
  "src/main.ts",
  "src/Serve.ts",
  "src/Teardown.ts",
  "src/backend/Program.ts",
  "src/backend/Settings.ts",
  "src/layers/AdminUsers.ts",
  "src/layers/Backends.ts",
  "src/layers/Settings.ts",
  "src/layers/node/NodePasswordHashes.ts",
  "src/layers/node/NodeSignatures.ts",
  "src/services/identity/Signatures.ts"
])

describe("the source tree", () => {
  it("keeps its import directions", () => {
    const wrong = sources.flatMap((path) =>
      importsOf(path)
        .filter((target) => target.startsWith("."))
        .map((target) => [path, relative(root, resolve(root, dirname(path), target))] as const)
        .filter(([from, to]) => {
          const [a, b] = [roomOf(from), roomOf(to)]
          const isException = (stacks.has(from) && stackRooms.includes(b)) || (a === "cli" && ofCommandLine.has(to))
          return !allowed[a].includes(b) && !isException
        })
        .map(([from, to]) => `${from} imports ${to}`)
    )
    assert.deepStrictEqual(wrong, [])
  })

  it("lets each room of services import only itself, rooms to its left and the ports", () => {
    const chain = ["operations", "identity", "markets", "read-model", "trading", "rewards"]
    // these compose several rooms, so they are above all of them
    const composed = ["src/services/Readiness.ts", "src/services/Metrics.ts"]
    const level = (path: string) =>
      composed.includes(path) ? chain.length : chain.indexOf(relative("src/services", dirname(path)))
    const services = sources.filter((path) => path.startsWith("src/services/"))
    const wrong = services.flatMap((path) =>
      importsOf(path)
        .filter((target) => target.startsWith("."))
        .map((target) => relative(root, resolve(root, dirname(path), target)))
        .filter((target) => target.startsWith("src/services/") && level(target) > level(path))
        .map((target) => `${path} imports ${target}`)
    )
    assert.deepStrictEqual(wrong, [])
    const folders = new Set(services.map((path) => relative("src/services", dirname(path))))
    assert.deepStrictEqual([...folders].toSorted(), ["", ...chain].toSorted())
  })

  it("lets the conformance suite import only the boundary", () => {
    const wrong = tracked
      .filter((path) => path.startsWith("conformance/"))
      .flatMap((path) => importsOf(path).map((target) => [path, relative(root, resolve(root, dirname(path), target))]))
      .filter(([, to]) => to!.startsWith("src/") && !to!.startsWith("src/proto/"))
      .map(([from, to]) => `${from} imports ${to}`)
    assert.deepStrictEqual(wrong, [])
  })

  it("lets the oracle share nothing with the engine but what sends it commands", () => {
    /** What files of the oracle import of src; the rest imports nothing of it. */
    const allowed: Record<string, RegExp> = {
      "verification/oracle/EngineSide.ts": /^src\/(?:backend|proto)\//u,
      "verification/oracle/Session.ts": /^src\/domain\/Address\.ts$/u
    }
    const wrong = tracked
      .filter((path) => path.startsWith("verification/oracle/") && path.endsWith(".ts"))
      .flatMap((path) =>
        importsOf(path)
          .filter((target) => target.startsWith("."))
          .map((target) => [path, relative(root, resolve(root, dirname(path), target))] as const)
      )
      .filter(([path, to]) => !to.startsWith("verification/oracle/") && allowed[path]?.test(to) !== true)
      .map(([path, to]) => `${path} imports ${to}`)
    assert.deepStrictEqual(wrong, [])
  })

  it("lets verification import src, and scripts the harness, but neither of them tests", () => {
    /** Folders that files of a folder may import. The load of verification/overload drives a benchmark too. */
    const allowed: Record<string, RegExp> = {
      // the configuration of the test runner is no test
      verification: /^(?:(?:verification|src)\/|vitest\.config\.ts$)/u,
      scripts: /^(?:scripts|src|verification\/harness|conformance)\//u,
      bench: /^(?:bench|src|verification\/(?:harness|overload))\//u
    }
    const wrong = imports
      .filter(([from, to]) => allowed[from.split("/")[0]!]?.test(to) === false)
      .map(([from, to]) => `${from} imports ${to}`)
    assert.deepStrictEqual(wrong, [])
  })

  it("has no circle of files", () => {
    /** Known circles, each by its first file. The list only shrinks. */
    const known: ReadonlyArray<string> = []
    const circles = circlesOf(imports.filter(([from]) => !from.startsWith("test/")))
    assert.deepStrictEqual(
      circles.filter(([first]) => !known.includes(first!)),
      []
    )
    assert.deepStrictEqual(
      known.filter((first) => !circles.some((circle) => circle[0] === first)),
      [],
      "remove what is no circle any more from the list"
    )
  })

  it("has no circle of folders", () => {
    /** Known circles, each by its first folder. The list only shrinks. */
    const known: ReadonlyArray<string> = []
    const circles = circlesOf(imports.filter(([from]) => !from.startsWith("test/")).flatMap(folders))
    assert.deepStrictEqual(
      circles.filter(([first]) => !known.includes(first!)),
      []
    )
    assert.deepStrictEqual(
      known.filter((first) => !circles.some((circle) => circle[0] === first)),
      [],
      "remove what is no circle any more from the list"
    )
  })

  it("finds circles, of two and of more", () => {
    assert.deepStrictEqual(circlesOf([["b", "a"], ["a", "b"], ["c", "a"]]), [["a", "b"]]) // prettier-ignore
    assert.deepStrictEqual(circlesOf([["a", "b"], ["b", "c"], ["c", "a"], ["c", "d"]]), [["a", "b", "c"]]) // prettier-ignore
    assert.deepStrictEqual(circlesOf([["a", "b"], ["b", "c"]]), []) // prettier-ignore
    assert.deepStrictEqual(folders(["src/a/x/1.ts", "src/b/2.ts"]), [["src/a", "src/b"]])
    assert.deepStrictEqual(folders(["src/a/1.ts", "src/a/x/2.ts"]), [])
  })

  it("lets the page import only what ships to a browser", () => {
    const wrong = tracked
      .filter((path) => path.startsWith("page/") && path.endsWith(".ts") && path !== "page/build.ts")
      .flatMap((path) => importsOf(path).map((target) => [path, target] as const))
      .filter(([path, target]) =>
        target.startsWith(".")
          ? !/^(?:page|src\/(?:client|domain|http\/api|ws\/api))\//u.test(
              relative(root, resolve(root, dirname(path), target))
            )
          : !/^(?:effect|@noble|lightweight-charts)(?:\/|$)/u.test(target)
      )
      .map(([path, target]) => `${path} imports ${target}`)
    assert.deepStrictEqual(wrong, [])
  })

  it("lets domain import effect and noble only", () => {
    const wrong = sources
      .filter((path) => path.startsWith("src/domain/"))
      .flatMap((path) => importsOf(path).map((target) => `${path}: ${target}`))
      .filter((line) => !/: (?:\.|effect(?:\/|$)|@noble\/)/u.test(line))
    assert.deepStrictEqual(wrong, [])
  })

  it("reads the wall clock and draws numbers by services only", () => {
    const allowed: ReadonlySet<string> = new Set([
      // the defaults of the client without Effect
      "src/sdk/Environment.ts",
      // grpc-js takes times of the system clock, which it turns into durations at once
      "src/layers/grpc/GrpcConnection.ts"
    ])
    const found = sources.filter((path) =>
      /\bDate\.now\(|\bnew Date\(\)|\bMath\.random\(/u.test(readFileSync(join(root, path), "utf8"))
    )
    assert.sameMembers(found, [...allowed])
  })

  it("repeats background work where a defect is logged", () => {
    const silent = sources.filter((path) =>
      /Effect\.forever,\s*Effect\.forkScoped|forkScoped\(\s*Effect\.forever/u.test(
        readFileSync(join(root, path), "utf8")
      )
    )
    assert.deepStrictEqual(silent, ["src/services/operations/Daemon.ts"])
  })

  it("declares the errors of services as schemas", () => {
    const others = sources.filter((path) => {
      const text = readFileSync(join(root, path), "utf8")
      return (
        /\bData\.(?:Tagged)?Error\b/u.test(text) ||
        (path.startsWith("src/services/") && /^  readonly _tag = /mu.test(text))
      )
    })
    assert.deepStrictEqual(others, [])
  })

  it("keeps contracts and client free of Node", () => {
    const wrong = sources
      .filter((path) => /^src\/(?:domain|http\/api|ws\/api|rpc\/api|client|sdk)\//u.test(path))
      .flatMap((path) => importsOf(path).map((target) => `${path}: ${target}`))
      .filter((line) => / node:|@effect\/platform-node| ws$/u.test(line))
    assert.deepStrictEqual(wrong, [])
  })

  it("runs nothing but its own and noble's code in the plain client", () => {
    const seen = new Set<string>()
    const foreign = new Set<string>()
    const walk = (path: string): void => {
      if (seen.has(path)) return
      seen.add(path)
      for (const target of importsOf(path, false)) {
        if (target.startsWith(".")) walk(relative(root, resolve(root, dirname(path), target)))
        else foreign.add(target)
      }
    }
    walk("src/sdk/index.ts")
    assert.deepStrictEqual([...foreign], ["@noble/ed25519"])
    assert.isAbove(seen.size, 20)
  })

  it("names modules in PascalCase and folders in lower case", () => {
    const wrong = sources
      .filter((path) => !path.startsWith("src/proto/") && !path.startsWith("src/layers/sql/migrations/"))
      .filter((path) => {
        const parts = path.split("/")
        const file = parts.pop()!
        return (
          parts.some((part) => part !== part.toLowerCase()) ||
          !/^(?:[A-Z][A-Za-z0-9]*|main|index|worker)\.ts$/u.test(file)
        )
      })
    assert.deepStrictEqual(wrong, [])
  })

  it("has no two paths that differ only by case", () => {
    const lower = tracked.map((path) => path.toLowerCase())
    assert.strictEqual(new Set(lower).size, lower.length)
  })

  it("commits generated code that is current", () => {
    assert.deepStrictEqual(stale(), [])
  })

  it("commits modules of the Python client that are current", () => {
    assert.deepStrictEqual(python.stale(), [], "run npm run generate")
  })

  it("commits a state diagram of orders that is current", () => {
    assert.isTrue(isPictureCurrent(), "run npm run generate")
  })

  it("commits documents that are current", () => {
    assert.isTrue(openapi.isCurrent(), "docs/openapi.json: run npm run generate")
    assert.isTrue(asyncapi.isCurrent(), "docs/asyncapi.json: run npm run generate")
  })

  it("matches docs/architecture.md", () => {
    const page = readFileSync(join(root, "docs/architecture.md"), "utf8")
    const named = [
      ...page.matchAll(/`((?:domain|services|http|ws|rpc|layers|client|sdk|cli|backend)\/[A-Za-z/-]+\.ts)/gu)
    ].map((match) => `src/${match[1]}`)
    assert.isAbove(named.length, 8)
    assert.deepStrictEqual(
      named.filter((path) => !sources.includes(path)),
      []
    )
    const inTree = [...page.matchAll(/^[├└]── ([a-z]+)\//gmu)].map((match) => match[1]!)
    const folders = new Set(sources.filter((path) => path.split("/").length > 2).map((path) => path.split("/")[1]!))
    assert.deepStrictEqual(inTree.toSorted(), [...folders].toSorted())
  })

  it("names no machine and no registry", () => {
    const wrong = tracked
      .filter((path) => !/\.(?:png|ico|gz)$/u.test(path) && path !== "test/tidy.test.ts")
      .filter((path) =>
        /\/work\/(?:main|trees|shared)|registry\.npmjs|"resolved": "http/u.test(readFileSync(join(root, path), "utf8"))
      )
    assert.deepStrictEqual(wrong, [])
  })
})
