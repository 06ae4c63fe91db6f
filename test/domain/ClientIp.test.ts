import { assert, describe, it } from "vitest"
import { clientIpOf } from "../../src/domain/ClientIp.ts"

describe("clientIpOf", () => {
  it("trusts only as many entries as there are proxies", () => {
    const forwarded = "203.0.113.9, 198.51.100.7 ,192.0.2.1"
    assert.strictEqual(clientIpOf("10.0.0.1", forwarded, 0), "10.0.0.1")
    assert.strictEqual(clientIpOf("10.0.0.1", forwarded, 1), "192.0.2.1")
    assert.strictEqual(clientIpOf("10.0.0.1", forwarded, 2), "198.51.100.7")
    assert.strictEqual(clientIpOf("10.0.0.1", forwarded, 4), "10.0.0.1")
    assert.strictEqual(clientIpOf("10.0.0.1", undefined, 1), "10.0.0.1")
    assert.strictEqual(clientIpOf("10.0.0.1", " , ", 1), "10.0.0.1")
  })
  it("reads IPv4 in IPv6 form as IPv4", () => {
    assert.strictEqual(clientIpOf("::ffff:192.0.2.1", undefined, 0), "192.0.2.1")
    assert.strictEqual(clientIpOf("::1", undefined, 0), "::1")
    assert.strictEqual(clientIpOf(undefined, undefined, 0), "")
  })
  it("leaves away the port that a proxy appends", () => {
    assert.strictEqual(clientIpOf("10.0.0.1", "203.0.113.9:49152", 1), "203.0.113.9")
    assert.strictEqual(clientIpOf("10.0.0.1", "[2001:db8::1]:49152", 1), "2001:db8::1")
    assert.strictEqual(clientIpOf("10.0.0.1", "[::ffff:203.0.113.9]", 1), "203.0.113.9")
    assert.strictEqual(clientIpOf("10.0.0.1", "2001:db8::1:80", 1), "2001:db8::1:80")
  })
})
