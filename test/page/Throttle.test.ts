import { assert, describe, it } from "vitest"
import { throttledOf, throttledText } from "../../page/Throttle.ts"
import * as Format from "../../page/Format.ts"

const NOW = 1_767_225_600_000
const of = (bucket: string, limit: string, wait: string) =>
  throttledOf(
    new Headers({
      "ratelimit-policy": `"${bucket}";q=${limit};w=60`,
      "ratelimit-limit": limit,
      "retry-after": wait
    }),
    NOW
  )

describe("a throttled request", () => {
  it("has the limit, that nothing changed, and when the next one is accepted", () => {
    const at = Format.clock(NOW + 12_000)
    assert.strictEqual(
      throttledText(of("api-key", "600", "12"), NOW),
      `Throttled: one API key may make 600 requests a minute. The request changed nothing. The next one is accepted at ${at}, in 12 s. Cancels have a limit of their own.`
    )
    assert.match(throttledText(of("api-key", "600", "12"), NOW + 9_500), /in 3 s/u)
  })

  it("has the words of its bucket", () => {
    assert.match(throttledText(of("public", "60", "3"), NOW), /one address may make 60 requests a minute without/u)
    assert.match(throttledText(of("authorize-key", "10", "3"), NOW), /one key may sign in 10 times a minute/u)
    const cancels = throttledText(of("token-cancels", "30", "3"), NOW)
    assert.match(cancels, /one session may cancel 30 times a minute/u)
    assert.notMatch(cancels, /Cancels have/u)
  })

  it("of an unknown bucket, without headers, waits a second", () => {
    const bare = throttledOf(new Headers(), NOW)
    assert.strictEqual(bare.until_ms, NOW + 1_000)
    assert.match(throttledText(bare, NOW), /^Throttled: there are too many requests\. .* in 1 s\.$/u)
  })
})
