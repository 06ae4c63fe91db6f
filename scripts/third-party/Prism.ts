/** Every cell of the table of endpoints through a proxy that holds each answer against the document. */
import { type AddressInfo, createServer } from "node:net"
import { cellsOf } from "../../test/spec/Cells.ts"
import { rows } from "../../test/spec/Endpoints.ts"
import { operations } from "../../verification/harness/documents/JsonSchema.ts"
import type { World } from "../../test/spec/World.ts"
import { start } from "./Tools.ts"

export const freePort = (): Promise<number> =>
  new Promise((resolve) => {
    const server = createServer().listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      server.close(() => resolve(port))
    })
  })

/** The proxy never answers some bodies that are no JSON. */
const ANSWER_MS_MAX = 1_000

export interface Proxied {
  /** Answers of the gateway that the proxy has seen. */
  readonly answers: number
  /** Cells whose request the proxy could not read: it answered itself, or never. */
  readonly refused: ReadonlyArray<string>
  /** Cells whose request the proxy made sound on its way: broken escapes, doubled keys. */
  readonly rewritten: ReadonlyArray<string>
  readonly violations: ReadonlyArray<string>
}

interface Violation {
  readonly location: ReadonlyArray<string>
  readonly message: string
}

export const throughPrism = async (home: string, document: string, world: World): Promise<Proxied> => {
  const port = await freePort()
  const stop = await start(
    home,
    ["prism", "proxy", document, world.exchange.url, "-h", "127.0.0.1", "-p", String(port)],
    /Prism is listening/u
  )
  const violations: Array<string> = []
  const refused: Array<string> = []
  const rewritten: Array<string> = []
  let answers = 0
  try {
    for (const operation of operations) {
      if (rows[operation.key] === undefined) continue
      for await (const { name, request, status } of cellsOf(world, operation)) {
        const { body, headers, method, target } = request
        const response = await fetch(`http://127.0.0.1:${port}${target}`, {
          method,
          headers,
          signal: AbortSignal.timeout(ANSWER_MS_MAX),
          ...(body === undefined ? {} : { body })
        }).catch(() => undefined)
        await response?.arrayBuffer()
        if (response?.headers.has("x-request-id") !== true) {
          refused.push(`${operation.key}, ${name}`)
          continue
        }
        answers++
        const where = `${operation.key}, ${name}`
        if (response.status !== status) rewritten.push(`${where}: ${response.status} in place of ${status}`)
        const found = JSON.parse(response.headers.get("sl-violations") ?? "[]") as ReadonlyArray<Violation>
        violations.push(
          ...found.filter(({ location }) => location[0] === "response").map(({ message }) => `${where}: ${message}`)
        )
      }
    }
  } finally {
    await stop()
  }
  return { answers, refused, rewritten, violations }
}
