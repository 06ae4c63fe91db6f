/** The administrators that the settings configure. */
import { readFile } from "node:fs/promises"
import { Effect } from "effect"
import { type AdminUser, parseAdminUsers } from "../domain/Administrator.ts"
import { SettingUnusable, type Settings } from "./Settings.ts"

/** Reads ADMIN_USERS_FILE once at start. The error lists every invalid line. */
export const read = Effect.fnUntraced(function* (
  settings: Settings
): Effect.fn.Return<ReadonlyArray<AdminUser>, SettingUnusable> {
  const { adminPassword, adminUsername, adminUsersFile: path } = settings
  if ((adminUsername === undefined) !== (adminPassword === undefined))
    return yield* new SettingUnusable({ message: "set both ADMIN_USERNAME and ADMIN_PASSWORD, or neither" })
  if (path === undefined) return []
  const text = yield* Effect.tryPromise({
    try: () => readFile(path, "utf8"),
    catch: (cause) => new SettingUnusable({ message: `ADMIN_USERS_FILE: cannot read ${path}`, cause })
  })
  const { users, wrong } = parseAdminUsers(text)
  const twice = users.find(({ username }) => username === adminUsername)
  const all = twice === undefined ? wrong : [...wrong, `username ${twice.username} repeats ADMIN_USERNAME`]
  if (all.length > 0) return yield* new SettingUnusable({ message: `ADMIN_USERS_FILE: ${path}: ${all.join("; ")}` })
  return users
})
