/**
 * Names what breaks callers between two OpenAPI documents: what was taken away, asked for anew, or made narrower. New
 * operations, optional fields and enumeration values of answers are no break
 * (docs/contract/conventions.md#json-and-http, Versioning).
 *
 * `node scripts/breaking.ts` compares docs/openapi.json with that of the newest tag, else with docs/openapi-0.1.1.json,
 * the document of the last version that was handed out.
 */
import { execFileSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

const root = dirname(dirname(fileURLToPath(import.meta.url)))

/** Which way a value goes: a caller sends it, or reads it. */
type Direction = "sent" | "read"

class Comparison {
  readonly breaks: Array<string> = []
  private readonly before: Json
  private readonly after: Json
  private readonly compared = new Set<string>()
  constructor(before: Json, after: Json) {
    this.before = before
    this.after = after
  }

  private static resolve(document: Json, value: Json): Json {
    if (value?.$ref === undefined) return value
    const { $ref, ...rest } = value
    const target = $ref
      .slice(2)
      .split("/")
      .reduce((at: Json, key: string) => at[key], document)
    return { ...Comparison.resolve(document, target), ...rest }
  }

  private static typesOf(schema: Json): ReadonlyArray<string> {
    const type = schema.type ?? []
    return Array.isArray(type) ? type : [type]
  }

  /** Bounds that must not come closer where callers send, nor go further where they read. */
  private bounds(where: string, old: Json, now: Json, direction: Direction): void {
    const sign = direction === "sent" ? 1 : -1
    for (const [key, closer] of [
      ["minimum", 1],
      ["minLength", 1],
      ["minItems", 1],
      ["maximum", -1],
      ["maxLength", -1],
      ["maxItems", -1]
    ] as const) {
      const none = closer === 1 ? -Infinity : Infinity
      const moved = ((now[key] ?? none) - (old[key] ?? none)) * closer * sign
      if (moved > 0) this.breaks.push(`${where}: ${key} was ${old[key] ?? "none"} and is ${now[key] ?? "none"}`)
    }
    if (old.pattern !== now.pattern && (direction === "sent" ? now.pattern !== undefined : old.pattern !== undefined)) {
      this.breaks.push(`${where}: the form ${old.pattern ?? "any"} is ${now.pattern ?? "any"}`)
    }
  }

  schema(where: string, oldSchema: Json, newSchema: Json, direction: Direction): void {
    // a schema that many share, or that holds itself, is compared once for each direction
    if (oldSchema?.$ref !== undefined && newSchema?.$ref !== undefined) {
      const pair = `${direction} ${oldSchema.$ref} ${newSchema.$ref}`
      if (this.compared.has(pair)) return
      this.compared.add(pair)
    }
    const old = Comparison.resolve(this.before, oldSchema) ?? {}
    const now = Comparison.resolve(this.after, newSchema) ?? {}
    const types = [Comparison.typesOf(old), Comparison.typesOf(now)] as const
    const [wide, tight] = direction === "sent" ? [types[1], types[0]] : [types[0], types[1]]
    const isNumber = (type: string) => type === "integer" && wide.includes("number")
    if (wide.length > 0 && (tight.length === 0 || tight.some((type) => !wide.includes(type) && !isNumber(type)))) {
      this.breaks.push(`${where}: was ${types[0].join() || "any"} and is ${types[1].join() || "any"}`)
      return
    }
    const gone = direction === "sent" ? (old.enum ?? []).filter((each: Json) => now.enum?.includes(each) === false) : []
    for (const value of gone) this.breaks.push(`${where}: ${value} is taken no more`)
    if (direction === "sent" && old.enum === undefined && now.enum !== undefined) {
      this.breaks.push(`${where}: only ${now.enum.join(", ")} are taken`)
    }
    const never = (old.enum ?? []).filter((each: Json) => direction === "read" && now.enum?.includes(each) === false)
    for (const value of never) this.breaks.push(`${where}: ${value} is answered no more`)
    this.bounds(where, old, now, direction)
    this.fields(where, old, now, direction)
    if (old.items !== undefined) this.schema(`${where}[]`, old.items, now.items, direction)
    this.members(where, old, now, direction)
  }

  private fields(where: string, old: Json, now: Json, direction: Direction): void {
    for (const [name, field] of Object.entries<Json>(old.properties ?? {})) {
      const kept = now.properties?.[name]
      if (kept === undefined) this.breaks.push(`${where}.${name}: is gone`)
      // a field that had to be absent may come alive
      else if (Comparison.resolve(this.before, field).not === undefined) {
        this.schema(`${where}.${name}`, field, kept, direction)
      }
    }
    const [more, fewer] = direction === "sent" ? [now, old] : [old, now]
    for (const name of more.required ?? []) {
      if (fewer.required?.includes(name) === true) continue
      if (now.properties?.[name] === undefined) continue
      this.breaks.push(`${where}.${name}: ${direction === "sent" ? "is required now" : "may be absent now"}`)
    }
  }

  /** Each choice that there was is still one, of as many. */
  private members(where: string, old: Json, now: Json, direction: Direction): void {
    const [before, after] = [old.anyOf ?? [], now.anyOf ?? []] as ReadonlyArray<ReadonlyArray<Json>>
    if (before!.length === 0 || after!.length === 0) return
    before!.forEach((member, i) => {
      if (after![i] === undefined) this.breaks.push(`${where}: one of its choices is gone`)
      else this.schema(where, member, after![i], direction)
    })
    if (direction === "read" && after!.length > before!.length) this.breaks.push(`${where}: may be something else now`)
  }

  operation(key: string, old: Json, now: Json): void {
    if (old.operationId !== now.operationId) {
      this.breaks.push(`${key}: operation ${old.operationId} is called ${now.operationId}`)
    }
    const named = (op: Json, { in: place, name }: Json) =>
      op.parameters.find((each: Json) => each.name === name && each.in === place)
    for (const parameter of old.parameters) {
      const kept = named(now, parameter)
      if (kept === undefined) this.breaks.push(`${key}?${parameter.name}: is gone`)
      else this.schema(`${key}?${parameter.name}`, parameter.schema, kept.schema, "sent")
    }
    for (const parameter of now.parameters) {
      if (parameter.required && named(old, parameter)?.required !== true) {
        this.breaks.push(`${key}?${parameter.name}: is required now`)
      }
    }
    const bodyOf = (holder: Json) => holder?.content?.["application/json"]?.schema
    if (old.requestBody === undefined && now.requestBody?.required) this.breaks.push(`${key}: a body is required now`)
    if (old.requestBody !== undefined) {
      this.schema(`${key} body`, bodyOf(old.requestBody), bodyOf(now.requestBody), "sent")
    }
    for (const [status, response] of Object.entries<Json>(old.responses)) {
      if (!status.startsWith("2")) continue
      const kept = now.responses[status]
      if (kept === undefined) this.breaks.push(`${key}: ${status} is answered no more`)
      else {
        const [a, b] = [Comparison.resolve(this.before, response), Comparison.resolve(this.after, kept)]
        this.schema(`${key} ${status}`, bodyOf(a), bodyOf(b), "read")
      }
    }
    const waysOf = (op: Json) => new Set<string>(op.security.map((each: object) => Object.keys(each).sort().join("+")))
    if (waysOf(old).size === 0 && waysOf(now).size > 0) this.breaks.push(`${key}: credentials are asked for now`)
    for (const way of waysOf(old)) {
      if (waysOf(now).size > 0 && !waysOf(now).has(way)) this.breaks.push(`${key}: ${way} is taken no more`)
    }
  }
}

/** What breaks callers of `before` when they meet `after`, a sentence each. */
/**
 * Breaks that CHANGELOG.md announces: "" for an order without a reference
 * (docs/contract/rest-trading.md#order-endpoints).
 */
export const announced: ReadonlyArray<string> = [
  "POST /api/v1/order/create 200.order_link_id: the form ^[A-Za-z0-9_-]{1,36}$ is ^[A-Za-z0-9_-]{0,36}$"
]

export const breaksOf = (before: Json, after: Json): ReadonlyArray<string> => {
  const comparison = new Comparison(before, after)
  for (const [path, methods] of Object.entries<Json>(before.paths)) {
    for (const [method, op] of Object.entries<Json>(methods)) {
      const key = `${method.toUpperCase()} ${path}`
      const kept = after.paths[path]?.[method]
      if (kept === undefined) comparison.breaks.push(`${key}: is gone`)
      else comparison.operation(key, op, kept)
    }
  }
  return comparison.breaks
}

const git = (...args: ReadonlyArray<string>): string =>
  execFileSync("git", args, {
    cwd: root,
    encoding: "utf8",
    maxBuffer: 64 * 1024 * 1024,
    stdio: ["ignore", "pipe", "ignore"]
  })

/** The document of the last version, and where it was found. */
export const lastVersion = (): { readonly from: string; readonly document: Json } => {
  try {
    const tag = git("describe", "--tags", "--abbrev=0").trim()
    return { from: tag, document: JSON.parse(git("show", `${tag}:docs/openapi.json`)) }
  } catch {
    const from = "docs/openapi-0.1.1.json"
    return { from, document: JSON.parse(readFileSync(join(root, from), "utf8")) }
  }
}
export const present = (): Json => JSON.parse(readFileSync(join(root, "docs/openapi.json"), "utf8"))

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  const { document, from } = lastVersion()
  const breaks = breaksOf(document, present())
  for (const each of breaks) console.log(each)
  console.log(`${breaks.length} breaking changes since ${from}`)
  process.exit(breaks.length === 0 ? 0 : 1)
}
