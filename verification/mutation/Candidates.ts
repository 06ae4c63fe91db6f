/** Small faults that a source could have: each is a change of one expression or statement. */
import { parseAst } from "vitest/node"

export interface Candidate {
  readonly operator: string
  readonly start: number
  readonly end: number
  readonly wrong: string
}

/** A node of the syntax tree, of any kind. */
interface Node {
  readonly type: string
  readonly start: number
  readonly end: number
  readonly [name: string]: unknown
}

const COMPARISONS: Readonly<Record<string, string>> = {
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  "===": "!==",
  "!==": "==="
}
const ARITHMETIC: Readonly<Record<string, string>> = { "+": "-", "-": "+", "*": "/", "/": "*" }
const LOGIC: Readonly<Record<string, string>> = { "&&": "||", "||": "&&", "??": "&&" }
const ROUNDING: Readonly<Record<string, string>> = { up: "down", down: "up" }

const isNode = (value: unknown): value is Node =>
  typeof value === "object" && value !== null && typeof (value as Node).type === "string"

/** The faults of one node; types and imports have none. */
const ofNode = (node: Node, text: (of: Node) => string): ReadonlyArray<readonly [operator: string, wrong: string]> => {
  switch (node.type) {
    case "BinaryExpression": {
      const { left, operator, right } = node as unknown as { left: Node; operator: string; right: Node }
      const other = COMPARISONS[operator] ?? ARITHMETIC[operator]
      if (other === undefined) return []
      const kind = operator in COMPARISONS ? "comparison" : "arithmetic"
      return [[kind, `${text(left)} ${other} ${text(right)}`]]
    }
    case "LogicalExpression": {
      const { left, operator, right } = node as unknown as { left: Node; operator: string; right: Node }
      return [["boolean", `(${text(left)}) ${LOGIC[operator]!} (${text(right)})`]]
    }
    case "UnaryExpression":
      return node["operator"] === "!" ? [["boolean", text(node["argument"] as Node)]] : []
    case "ConditionalExpression": {
      const [test, yes, no] = [node["test"], node["consequent"], node["alternate"]] as [Node, Node, Node]
      return [["swapped branch", `${text(test)} ? ${text(no)} : ${text(yes)}`]]
    }
    case "IfStatement": {
      const test = node["test"] as Node
      const rest = text(node).slice(test.end - node.start)
      return [["swapped branch", `if (!(${text(test)})${rest}`]]
    }
    case "ExpressionStatement": {
      const { type } = node["expression"] as Node
      return [
        "CallExpression",
        "AssignmentExpression",
        "UpdateExpression",
        "YieldExpression",
        "AwaitExpression"
      ].includes(type)
        ? [["removed statement", "{}"]]
        : []
    }
    case "AwaitExpression":
      return [["removed await", text(node["argument"] as Node)]]
    case "Literal": {
      const { value } = node
      if (typeof value === "boolean") return [["changed constant", String(!value)]]
      if (typeof value === "number") return [["changed constant", String(value + 1)]]
      if (typeof value === "bigint") return [["changed constant", `${value + 1n}n`]]
      const other = typeof value === "string" ? ROUNDING[value] : undefined
      return other === undefined ? [] : [["rounding direction", JSON.stringify(other)]]
    }
    default:
      return []
  }
}

/** Every fault that a TypeScript source could have by the operators here, in the order of the source. */
export const candidatesOf = (source: string): ReadonlyArray<Candidate> => {
  const found: Array<Candidate> = []
  const text = ({ end, start }: Node) => source.slice(start, end)
  const visit = (node: Node): void => {
    if (node.type.startsWith("TS") && node["expression"] === undefined) return
    if (node.type === "ImportDeclaration") return
    for (const [operator, wrong] of ofNode(node, text)) {
      found.push({ operator, start: node.start, end: node.end, wrong })
    }
    for (const [name, value] of Object.entries(node)) {
      if (name === "typeAnnotation" || name === "typeArguments" || name === "typeParameters") continue
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child)
    }
  }
  visit(parseAst(source, { lang: "ts" }) as unknown as Node)
  return found
}

/** A change of the source as text that occurs in it once. */
export const unique = (
  source: string,
  { end, start, wrong }: Candidate
): { readonly right: string; readonly wrong: string } => {
  for (let around = 0; ; around += 20) {
    const [from, to] = [Math.max(0, start - around), Math.min(source.length, end + around)]
    const right = source.slice(from, to)
    if (source.indexOf(right) === source.lastIndexOf(right)) {
      return { right, wrong: source.slice(from, start) + wrong + source.slice(end, to) }
    }
  }
}
