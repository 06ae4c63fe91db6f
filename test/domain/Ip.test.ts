import { assert, describe, it } from "@effect/vitest"
import { Schema } from "effect"
import { BlockList, isIP } from "node:net"
import { contains, networkOf, parseCidr, parseIp, printCidr, printIp } from "../../src/domain/Ip.ts"

const printed = (text: string) => {
  const ip = parseIp(text)
  return ip === undefined ? undefined : printIp(ip)
}

describe("IP addresses", () => {
  for (const [text, expected] of [
    ["0.0.0.0", "0.0.0.0"],
    ["255.255.255.255", "255.255.255.255"],
    ["::", "::"],
    ["::1", "::1"],
    ["1::", "1::"],
    ["2001:DB8:0:0:1:0:0:1", "2001:db8::1:0:0:1"],
    ["2001:db8:0:1:1:1:1:1", "2001:db8:0:1:1:1:1:1"],
    ["64:ff9b::192.0.2.33", "64:ff9b::c000:221"],
    ["1:2:3:4:5:6:192.0.2.33", "1:2:3:4:5:6:c000:221"],
    ["::1:2:3:4:5:192.0.2.33", "0:1:2:3:4:5:c000:221"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["0:0:0:0:0:FFFF:c000:0201", "192.0.2.1"],
    ["fe80::1%eth0", "fe80::1"]
  ] as const) {
    it(`reads ${text} as ${expected}`, () => assert.strictEqual(printed(text), expected))
  }

  for (const text of [
    "",
    "1.2.3",
    "1.2.3.4.5",
    "1.2.3.256",
    "1.2.3.04",
    "1.2.3.-4",
    " 1.2.3.4",
    "0x1.2.3.4",
    ":",
    ":::",
    "1::2::3",
    "1:2:3:4:5:6:7",
    "1:2:3:4:5:6:7:8:9",
    "1:2:3:4:5:6:7:8::",
    "::1:2:3:4:5:6:7:8",
    "12345::",
    "g::",
    "1.2.3.4::",
    "::1.2.3.4:5",
    ":1:2:3:4:5:6:7"
  ]) {
    it(`reads ${JSON.stringify(text)} as none`, () => {
      assert.isUndefined(parseIp(text))
      assert.strictEqual(isIP(text), 0)
    })
  }

  const Value = Schema.BigInt.check(Schema.isBetweenBigInt({ minimum: 0n, maximum: (1n << 128n) - 1n }))
  it.prop("prints what the platform reads as the same address", { value: Value }, ({ value }) => {
    const text = printIp({ bits: 128, value })
    assert.strictEqual(isIP(text), 6)
    const again = parseIp(text)!
    if (again.bits === 128) assert.strictEqual(again.value, value)
    else assert.strictEqual(value >> 32n, 0xffffn)
  })
})

describe("CIDR blocks", () => {
  for (const [text, expected] of [
    ["10.1.2.3/8", "10.0.0.0/8"],
    ["10.1.2.3", "10.1.2.3/32"],
    ["0.0.0.0/0", "0.0.0.0/0"],
    ["2001:db8::ffff/32", "2001:db8::/32"],
    ["::1", "::1/128"],
    ["::/0", "::/0"],
    ["::ffff:10.1.2.3/104", "10.0.0.0/8"]
  ] as const) {
    it(`reads ${text} as ${expected}`, () => assert.strictEqual(printCidr(parseCidr(text)!), expected))
  }
  for (const text of [
    "",
    "/8",
    "10.0.0.0/",
    "10.0.0.0/33",
    "10.0.0.0/08",
    "10.0.0.0/-1",
    "10.0.0.0/8/8",
    "::/129",
    "fe80::1%eth0/64",
    "::ffff:1.2.3.4/24"
  ]) {
    it(`reads ${JSON.stringify(text)} as none`, () => assert.isUndefined(parseCidr(text)))
  }

  const Octet = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 255 }))
  const Octets = Schema.Tuple([Octet, Octet, Octet, Octet])
  const Prefix = Schema.Int.check(Schema.isBetween({ minimum: 0, maximum: 32 }))
  it.prop("match as the platform's block list does", { a: Octets, b: Octets, prefix: Prefix, bit: Prefix }, (data) => {
    // an address that differs from the block's in one bit, or in all
    const near = parseIp(data.a.join("."))!.value ^ (data.bit === 32 ? 0n : 1n << BigInt(data.bit))
    const list = new BlockList()
    list.addSubnet(data.a.join("."), data.prefix)
    const block = parseCidr(`${data.a.join(".")}/${data.prefix}`)!
    for (const ip of [printIp({ bits: 32, value: near }), data.b.join(".")]) {
      assert.strictEqual(contains(block, parseIp(ip)!), list.check(ip))
      assert.strictEqual(contains(block, parseIp(`::ffff:${ip}`)!), list.check(ip))
    }
  })
  it("do not match across families", () => {
    assert.isFalse(contains(parseCidr("0.0.0.0/0")!, parseIp("::1")!))
    assert.isFalse(contains(parseCidr("::/0")!, parseIp("1.2.3.4")!))
  })
})

describe("the network that is counted", () => {
  for (const [text, expected] of [
    ["192.0.2.1", "192.0.2.1"],
    ["::ffff:192.0.2.1", "192.0.2.1"],
    ["2001:db8:1:2:3:4:5:6", "2001:db8:1:2::/64"],
    ["fe80::1%eth0", "fe80::/64"],
    ["unknown", "unknown"]
  ] as const) {
    it(`of ${text} is ${expected}`, () => assert.strictEqual(networkOf(text), expected))
  }
})
