/** Clients made by code generators from the document: each is compiled strictly and places an order. */

/** Environment of the programs: `URL`, `TOKEN`, `VAULT`. */
export interface Generator {
  readonly name: string
  /** Arguments of the generator, run in the client's own folder with the document beside it. */
  readonly command: ReadonlyArray<string>
  /** Files that the generator needs. */
  readonly files?: (url: string) => Record<string, string>
  /** A program that places an order and prints its id. */
  readonly program: string
}

const order = `{
  sub_account_address: process.env["VAULT"]!,
  symbol: "BTC-USDC",
  side: "Buy" as const,
  order_type: "Limit" as const,
  qty: "0.001",
  price: "59000"
}`
const setup = `
const headers = { authorization: "Bearer " + process.env["TOKEN"]! }
const body = ${order}
`
const main = (lines: string) => `
const main = async (): Promise<void> => {
${lines}
}
main().catch((error) => { console.error(error); process.exit(1) })
`

export const generators: ReadonlyArray<Generator> = [
  {
    name: "openapi-typescript",
    command: ["openapi-typescript", "openapi.json", "-o", "schema.ts"],
    program: `import createClient from "openapi-fetch"
import type { paths } from "./schema"
${setup}
const client = createClient<paths>({ baseUrl: process.env["URL"]!, headers })
${main(`  const { data, error } = await client.POST("/api/v1/order/create", { body })
  if (error !== undefined) throw new Error(JSON.stringify(error))
  const order_id: string = data.order_id
  console.log(order_id)`)}`
  },
  {
    name: "@hey-api/openapi-ts",
    command: ["openapi-ts", "-i", "openapi.json", "-o", "client"],
    program: `import { createOrder } from "./client/sdk.gen"
import { client } from "./client/client.gen"
${setup}
${main(`  client.setConfig({ baseUrl: process.env["URL"]!, headers })
  const { data, error } = await createOrder({ body })
  if (data === undefined) throw new Error(JSON.stringify(error))
  const order_id: string = data.order_id
  console.log(order_id)`)}`
  },
  {
    name: "orval",
    command: ["orval", "--config", "orval.config.cjs"],
    files: (baseUrl) => ({
      "orval.config.cjs": `module.exports = ${JSON.stringify({
        gateway: { input: { target: "openapi.json" }, output: { target: "client.ts", client: "fetch", baseUrl } }
      })}`
    }),
    program: `import { createOrder } from "./client"
${setup}
${main(`  const { data, status } = await createOrder(body, { headers })
  if (status !== 200) throw new Error(JSON.stringify(data))
  const order_id: string = data.order_id
  console.log(order_id)`)}`
  },
  {
    name: "swagger-typescript-api",
    command: [
      "swagger-typescript-api",
      "generate",
      "-p",
      "openapi.json",
      "-o",
      ".",
      "-n",
      "client.ts",
      "--enum-style",
      "union"
    ],
    program: `import { Api } from "./client"
${setup}
${main(`  const { api } = new Api({ baseUrl: process.env["URL"]!, baseApiParams: { headers } })
  const { data } = await api.createOrder(body)
  const order_id: string = data.order_id
  console.log(order_id)`)}`
  }
]
