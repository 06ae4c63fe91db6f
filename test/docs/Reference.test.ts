/** The pages that are looked things up in say what the code says. */
import { assert, describe, it } from "vitest"
import { stale } from "../../scripts/generate-reference.ts"
import { cures } from "../../scripts/reference/Cures.ts"
import { rejects } from "../../scripts/reference/Rejects.ts"
import { RejectReason } from "../../src/domain/Enumerations.ts"
import { reasons } from "../../src/domain/Reason.ts"
import { privateTopics } from "../../src/domain/Topic.ts"
import { closeCodes } from "../../src/ws/api/CloseCodes.ts"
import { defaults } from "../../src/ws/Limits.ts"
import { operations } from "../spec/JsonSchema.ts"
import { textOf } from "./Pages.ts"

describe("the reference", () => {
  it("is current", () => {
    assert.deepStrictEqual(stale(), [], "run npm run generate")
  })

  it("has every reason once, with its cause and its cure", () => {
    const page = textOf("docs/reference/errors.md")
    for (const reason of reasons) {
      const { cause, cure } = cures[reason]
      assert.lengthOf(page.split(`\n| \`${reason}\` | ${cause} | ${cure} |`), 2, reason)
      for (const text of [cause, cure]) assert.match(text, /^[A-Z0-9`].{5,}\.$/u, reason)
    }
  })

  it("has every reason of a refused order, or says that it is kept for others", () => {
    const page = textOf("docs/reference/errors.md")
    for (const reason of RejectReason.literals) {
      assert.include(page, rejects[reason] === undefined ? `\`${reason}\`` : `\n| \`${reason}\` | `)
    }
  })

  it("has every operation once", () => {
    const page = textOf("docs/reference/rest.md")
    const listed = operations.filter(({ path }) => !path.startsWith("/api-docs/"))
    for (const { key } of listed) assert.lengthOf(page.split(`\n| \`${key}\` | `), 2, key)
  })

  it("has every close code, private topic and limit of the sockets", () => {
    const page = textOf("docs/reference/websocket.md")
    for (const { code } of Object.values(closeCodes)) {
      if (code !== 1000) assert.match(page, new RegExp(String.raw`\| (?:\d{4}, )?${code}\b`, "u"))
    }
    for (const topic of privateTopics) assert.include(page, `| \`${topic}\` |`)
    const told = [
      `| sockets | ${defaults.connections_per_ip} an address (429 on the upgrade), ${defaults.connections_per_user} a user`,
      `${defaults.topics_per_connection} a socket`,
      `| messages | ${defaults.messages_per_s} a second, ${defaults.message_burst} at once`,
      `after ${defaults.flood_ms / 1000} s the socket is closed`,
      `| a message | ${defaults.inbound_frame_bytes / 1024} KiB`,
      `within ${defaults.auth_deadline_ms / 1000} s, in at most ${defaults.auth_tries} tries`,
      `(${defaults.outbound_bytes / 1024 / 1024} MiB, ${defaults.outbound_age_ms / 1000} s)`,
      `every ${defaults.ping_interval_ms / 1000} s; a socket that is silent for ${defaults.silence_ms / 1000} s`
    ]
    for (const text of told) assert.include(page, text)
  })
})
