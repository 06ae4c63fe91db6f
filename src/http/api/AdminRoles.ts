/** The least role that an admin endpoint needs. A test finds an endpoint that is missing here. */
import type { Role } from "../../domain/Administrator.ts"

const table: Readonly<Record<string, Role>> = {
  "GET /api/v1/admin/audit": "reader",
  "GET /api/v1/admin/access-codes": "reader",
  "GET /api/v1/authorize/whitelist/:root_address": "reader",

  "PUT /api/v1/authorize/whitelist/:root_address": "operator",
  "DELETE /api/v1/authorize/whitelist/:root_address": "operator",
  "POST /api/v1/admin/access-codes": "operator",
  "DELETE /api/v1/admin/access-codes/:code_id": "operator",
  "PUT /api/v1/admin/bans/:root_address": "operator",
  "DELETE /api/v1/admin/bans/:root_address": "operator",

  // these pay prizes and move prices
  "POST /api/v1/admin/competitions": "admin",
  "PATCH /api/v1/admin/competitions/:competition_id": "admin",
  "PUT /api/v1/admin/index-price": "admin"
}

interface Named {
  readonly method: string
  readonly path: string
}

/** Endpoints of the table, by method and path. */
export const administered: ReadonlyArray<string> = Object.keys(table)
export const nameOf = ({ method, path }: Named): string => `${method} ${path.replace(/(?<=.)\/$/u, "")}`
export const roleFor = (endpoint: Named): Role => table[nameOf(endpoint)] ?? "admin"
