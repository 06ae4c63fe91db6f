/** Small faults that a source could have: each is a change of one expression or statement. */
import { parseAst } from "vitest/node"

interface Range {
  readonly start: number
  readonly end: number
}

export interface Candidate extends Range {
  readonly operator: string
  readonly wrong: string
  /** The expression that is evaluated where the fault would be. */
  readonly evaluated: Range
  /** It begins a statement. */
  readonly isFirst: boolean
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
      const wrong = `(${text(left)}) ${LOGIC[operator]!} (${text(right)})`
      // a chain of ?? takes no other operator without parentheses
      return [["boolean", operator === "??" ? `(${wrong})` : wrong]]
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

/** The expression of a node that marks where it is executed. */
const evaluatedIn = (node: Node): Range => {
  const part = node.type === "IfStatement" ? node["test"] : node.type === "ExpressionStatement" && node["expression"]
  return isNode(part) ? part : node
}

/** Every fault that a TypeScript source could have by the operators here, in the order of the source. */
export const candidatesOf = (source: string): ReadonlyArray<Candidate> => {
  const found: Array<Candidate> = []
  const text = ({ end, start }: Node) => source.slice(start, end)
  const starts = new Set<number>()
  const visit = (node: Node): void => {
    if (node.type.startsWith("TS") && node["expression"] === undefined) return
    if (node.type === "ImportDeclaration") return
    if (node.type === "ExpressionStatement") starts.add(node.start)
    for (const [operator, wrong] of ofNode(node, text)) {
      const { end, start } = node
      found.push({ operator, start, end, wrong, evaluated: evaluatedIn(node), isFirst: starts.has(start) })
    }
    for (const [name, value] of Object.entries(node)) {
      if (name === "typeAnnotation" || name === "typeArguments" || name === "typeParameters") continue
      // the name of a property is no expression
      if (name === "key" && node["computed"] !== true) continue
      for (const child of Array.isArray(value) ? value : [value]) if (isNode(child)) visit(child)
    }
  }
  visit(parseAst(source, { lang: "ts" }) as unknown as Node)
  return found
}

/** Without semicolons a line that begins with a parenthesis continues the line before it. */
const BEGIN = "void 0, "

/** The source with a fault. */
export const planted = (source: string, { end, isFirst, start, wrong }: Candidate): string =>
  source.slice(0, start) + (isFirst && wrong.startsWith("(") ? BEGIN : "") + wrong + source.slice(end)

/** The source with a call of `reached` at each candidate, with the number beside it. */
export const marked = (source: string, candidates: ReadonlyArray<readonly [number: number, Candidate]>): string => {
  const before = new Map<number, string>()
  const after = new Map<number, string>()
  // the outer one first, which opens first and closes last
  const outer = candidates.toSorted(
    ([, a], [, b]) => b.evaluated.end - b.evaluated.start - (a.evaluated.end - a.evaluated.start)
  )
  for (const [number, { evaluated, isFirst }] of outer) {
    const { end, start } = evaluated
    const begun = before.get(start) ?? (isFirst ? BEGIN : "")
    before.set(start, `${begun}(globalThis.reached?.(${number}), `)
    after.set(end, `)${after.get(end) ?? ""}`)
  }
  let text = ""
  for (let i = 0; i <= source.length; i++) text += (after.get(i) ?? "") + (before.get(i) ?? "") + (source[i] ?? "")
  return text
}
