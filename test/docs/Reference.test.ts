/** Reference pages and limits of the contract match the code. */
import { assert, describe, it } from "vitest"
import { stale } from "../../scripts/generate-reference.ts"
import { cures } from "../../scripts/reference/Cures.ts"
import { rejects } from "../../scripts/reference/Rejects.ts"
import { RejectReason } from "../../src/domain/Enumerations.ts"
import { reasons } from "../../src/domain/Reason.ts"
import { privateTopics } from "../../src/domain/Topic.ts"
import { closeCodes } from "../../src/ws/api/CloseCodes.ts"
import { defaults } from "../../src/ws/Limits.ts"
import { operations } from "../../verification/harness/documents/JsonSchema.ts"
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

  it("has every reject_reason, or lists it as reserved", () => {
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

})

describe("the contract", () => {
  it("has every close code, private topic and limit of WebSocket sessions", () => {
    const page = textOf("docs/contract/websocket.md")
    for (const { code } of Object.values(closeCodes)) {
      if (code !== 1000) assert.match(page, new RegExp(String.raw`\| (?:\d{4}, )?${code}\b`, "u"))
    }
    for (const topic of privateTopics) assert.include(page, `| \`${topic}\` |`)
    const limits = [
      `| Connections per IP address | ${defaults.connections_per_ip} |`,
      `| Connections per user | ${defaults.connections_per_user} |`,
      `| Topics per connection | ${defaults.topics_per_connection} |`,
      `protocol pings included | ${defaults.messages_per_s} a second, burst ${defaults.message_burst} |`,
      `After ${defaults.flood_ms / 1000} s without a pause: close 4029`,
      `| Inbound message | ${defaults.inbound_frame_bytes / 1024} KiB`,
      `| Time to authenticate on \`/ws/private\` | ${defaults.auth_deadline_ms / 1000} s |`,
      `| Failed attempts to authenticate | ${defaults.auth_tries} |`,
      `| Outbound buffer | ${defaults.outbound_bytes / 1024 / 1024} MiB, or an oldest frame of ${defaults.outbound_age_ms / 1000} s |`,
      `a ping frame every ${defaults.ping_interval_ms / 1000} s. Without a pong or another frame for ${defaults.silence_ms / 1000} s`
    ]
    for (const text of limits) assert.include(page, text)
  })
})
