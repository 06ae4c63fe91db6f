/**
 * Standard input of the MCP server, one line at a time. A line that is no JSON is answered here: the library answers nothing, and
 * drops the lines that arrived with it. Source: JSON-RPC 2.0, "Error object".
 */
import { Effect, Layer, Stdio, Stream } from "effect"

/** Longest line, in characters; a longer one is no message. */
const LINE_MAX = 1024 * 1024

const PARSE_ERROR = `${JSON.stringify({ jsonrpc: "2.0", id: null, error: { code: -32700, message: "Parse error" } })}\n`

const isJson = (line: string): boolean => {
  try {
    JSON.parse(line)
    return true
  } catch {
    return false
  }
}

export const layer: Layer.Layer<Stdio.Stdio, never, Stdio.Stdio> = Layer.effect(
  Stdio.Stdio,
  Effect.map(Stdio.Stdio, (stdio) => {
    const refuse = Stream.run(Stream.make(PARSE_ERROR), stdio.stdout())
    const stdin = stdio.stdin.pipe(
      Stream.decodeText(),
      Stream.mapAccum(
        () => "",
        (rest, text: string) => {
          const lines = (rest + text).split("\n")
          const last = lines.pop()!
          return last.length > LINE_MAX ? (["", [...lines, last]] as const) : ([last, lines] as const)
        }
      ),
      Stream.filter((line) => line.trim() !== ""),
      Stream.filterEffect((line) => (isJson(line) ? Effect.succeed(true) : Effect.as(refuse, false))),
      Stream.map((line) => `${line}\n`),
      Stream.encodeText
    )
    return { ...stdio, stdin }
  })
)
