/** Administrators: their roles, and the format of the file that lists them. */
import { Schema } from "effect"

/** Roles in ascending order; each role includes the permissions of those before it. */
export const roles = ["reader", "operator", "admin"] as const
export const Role = Schema.Literals(roles).annotate({
  identifier: "Role",
  description: "What an administrator may do; each role includes those before it"
})
export type Role = typeof Role.Type

export const holds = (role: Role, required: Role): boolean => roles.indexOf(role) >= roles.indexOf(required)

/** The authenticated caller of an admin endpoint. */
export interface Administrator {
  readonly username: string
  readonly role: Role
}

/** Limits of the scrypt parameters in the file. One check uses 128 × N × r bytes of memory, 128 MiB at most. */
const SCRYPT_N_MAX = 131_072
const SCRYPT_R_MAX = 8
const SCRYPT_P_MAX = 4

/** A password's scrypt hash with its parameters (RFC 7914). */
export interface PasswordHash {
  readonly N: number
  readonly r: number
  readonly p: number
  readonly salt: Uint8Array
  readonly hash: Uint8Array
}

const HASH = /^scrypt\$N=(\d{4,6}),r=(\d),p=(\d)\$([A-Za-z0-9_-]{22,86})\$([A-Za-z0-9_-]{43})$/u
/** The accepted form of {@link parsePasswordHash}, for error texts. */
const PASSWORD_HASH = "scrypt$N=…,r=…,p=…$<salt>$<hash>, as `gateway admin hash` prints it"

const bytesOf = (text: string): Uint8Array =>
  Uint8Array.from(atob(text.replaceAll("-", "+").replaceAll("_", "/")), (char) => char.charCodeAt(0))
const textOf = (bytes: Uint8Array): string =>
  btoa(String.fromCharCode(...bytes))
    .replaceAll("+", "-")
    .replaceAll("/", "_")
    .replace(/=+$/u, "")

/** Reads a hash; `undefined` if its form or a parameter is not accepted. */
export const parsePasswordHash = (text: string): PasswordHash | undefined => {
  const found = HASH.exec(text)
  if (found === null) return undefined
  const [N, r, p] = [Number(found[1]), Number(found[2]), Number(found[3])]
  const isPower = (N & (N - 1)) === 0
  if (!isPower || N < 16_384 || N > SCRYPT_N_MAX || r < 1 || r > SCRYPT_R_MAX || p < 1 || p > SCRYPT_P_MAX)
    return undefined
  try {
    return { N, r, p, salt: bytesOf(found[4]!), hash: bytesOf(found[5]!) }
  } catch {
    return undefined
  }
}
export const printPasswordHash = ({ N, hash, p, r, salt }: PasswordHash): string =>
  `scrypt$N=${N},r=${r},p=${p}$${textOf(salt)}$${textOf(hash)}`

/** One line of ADMIN_USERS_FILE, a JSON object. */
export interface AdminUser {
  readonly username: string
  readonly role: Role
  readonly password_hash: string
}

const USERNAME = /^[A-Za-z0-9._@-]{1,64}$/u
const fields: ReadonlySet<string> = new Set(["username", "role", "password_hash"])

/**
 * Parses a line. On failure returns a text with the wrong field and the accepted values. The text never repeats a
 * password hash.
 */
export const parseAdminUser = (line: string): AdminUser | string => {
  let given: unknown
  try {
    given = JSON.parse(line)
  } catch {
    return "expected one JSON object"
  }
  if (typeof given !== "object" || given === null || Array.isArray(given)) return "expected one JSON object"
  const unknown = Object.keys(given).find((name) => !fields.has(name))
  if (unknown !== undefined) return `${unknown}: unknown field; expected username, role and password_hash`
  const { password_hash, role, username } = given as Record<string, unknown>
  if (typeof username !== "string" || !USERNAME.test(username))
    return `username: expected 1 to 64 characters of A-Z, a-z, 0-9, ., _, @ and -, got ${JSON.stringify(username)}`
  const known = roles.find((each) => each === role)
  if (known === undefined) return `role: expected ${roles.join(", ")}, got ${JSON.stringify(role)}`
  if (typeof password_hash !== "string" || parsePasswordHash(password_hash) === undefined)
    return `password_hash: expected ${PASSWORD_HASH}`
  return { username, role: known, password_hash }
}

/** Parses the file. `wrong` lists the invalid lines. Blank lines and lines that begin with # are skipped. */
export const parseAdminUsers = (
  text: string
): { readonly users: ReadonlyArray<AdminUser>; readonly wrong: ReadonlyArray<string> } => {
  const users: Array<AdminUser> = []
  const wrong: Array<string> = []
  for (const [index, line] of text.split("\n").entries()) {
    if (line.trim() === "" || line.trimStart().startsWith("#")) continue
    const read = parseAdminUser(line)
    if (typeof read === "string") wrong.push(`line ${index + 1}: ${read}`)
    else if (users.some(({ username }) => username === read.username))
      wrong.push(`line ${index + 1}: duplicate username ${read.username}`)
    else users.push(read)
  }
  return { users, wrong }
}
