/** The floor of reads: node:http, with the same bytes and headers for every request. */
import { createServer } from "node:http"
import type { AddressInfo } from "node:net"
import { BODY, headers } from "./reads.ts"
import { serve } from "./usage.ts"

const bytes = Buffer.from(BODY)
const server = createServer((_, response) => {
  response.writeHead(200, { ...headers, "content-type": "application/json", "content-length": bytes.length })
  response.end(bytes)
})
server.listen(0, "127.0.0.1", () => serve((server.address() as AddressInfo).port))
