/**
 * A validating proxy in front of any number of exchanges. Prism has one upstream: a router, which forwards each request to the
 * exchange that its header names.
 */
import { createServer, request as forward, type Server } from "node:http"
import type { AddressInfo } from "node:net"
import { freePort } from "../../verification/harness/Programs.ts"
import { UPSTREAM } from "../../verification/harness/RestClient.ts"
import { start } from "./Tools.ts"

interface Router {
  readonly server: Server
  readonly url: string
  readonly forwarded: () => number
}

const startRouter = (): Promise<Router> =>
  new Promise((resolve) => {
    let forwarded = 0
    const server = createServer((request, response) => {
      const { [UPSTREAM]: upstream, ...headers } = request.headers
      if (typeof upstream !== "string") return void response.writeHead(502).end()
      forwarded++
      const onward = forward(
        new URL(request.url!, upstream),
        { method: request.method, headers, path: request.url },
        (answer) => {
          response.writeHead(answer.statusCode!, answer.headers)
          answer.pipe(response)
        }
      )
      onward.once("error", () => response.destroy())
      request.pipe(onward)
    }).listen(0, "127.0.0.1", () => {
      const { port } = server.address() as AddressInfo
      resolve({ server, url: `http://127.0.0.1:${port}`, forwarded: () => forwarded })
    })
  })

export interface Proxy {
  readonly url: string
  /** Requests that reached an exchange. */
  readonly forwarded: () => number
}

/** Runs Prism on a document while `use` runs. */
export const withPrism = async <A>(home: string, document: string, use: (proxy: Proxy) => Promise<A>): Promise<A> => {
  const router = await startRouter()
  const port = await freePort()
  const stop = await start(
    home,
    ["prism", "proxy", document, router.url, "-h", "127.0.0.1", "-p", String(port)],
    /Prism is listening/u
  )
  try {
    return await use({ url: `http://127.0.0.1:${port}`, forwarded: router.forwarded })
  } finally {
    await stop()
    router.server.closeAllConnections()
    router.server.close()
  }
}
