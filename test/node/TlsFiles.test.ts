import { assert, describe, it } from "@effect/vitest"
import { spawnSync } from "node:child_process"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import { afterAll } from "vitest"
import { faultOf } from "../../src/node/TlsFiles.ts"
import { temporaryFolder } from "../../verification/harness/Programs.ts"

const folder = temporaryFolder("tls-files")
afterAll(() => folder.remove())

const openssl = (...args: ReadonlyArray<string>): number | null =>
  spawnSync("openssl", [...args], { cwd: folder.path }).status
const hasOpenssl = openssl("version") === 0

const file = (name: string): Buffer => readFileSync(join(folder.path, name))

const make = (name: string, ...key: ReadonlyArray<string>): { readonly cert: Buffer; readonly key: Buffer } => {
  const [cert, secret] = [`${name}.pem`, `${name}.key`]
  assert.strictEqual(
    openssl("req", "-x509", ...key, "-nodes", "-days", "2", "-subj", `/CN=${name}`, "-keyout", secret, "-out", cert),
    0
  )
  return { cert: file(cert), key: file(secret) }
}

const EC = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]

describe.skipIf(!hasOpenssl)("PEM files of TLS", () => {
  const made = hasOpenssl ? [make("one", ...EC), make("two", "-newkey", "rsa:2048")] : []
  const [one, two] = made as [(typeof made)[0], (typeof made)[0]]
  const text = Buffer.from("no certificate")
  const der = () => {
    openssl("x509", "-in", "one.pem", "-outform", "DER", "-out", "one.der")
    return file("one.der")
  }

  it("are accepted with an authority alone, with several, and with key and certificate in one file", () => {
    const both = Buffer.concat([Buffer.from("one and two\n"), one.cert, two.cert])
    const combined = Buffer.concat([two.cert, two.key])
    for (const files of [
      { ca: one.cert, cert: undefined, key: undefined },
      { ca: both, cert: one.cert, key: one.key },
      { ca: undefined, cert: combined, key: combined }
    ])
      assert.isUndefined(faultOf(files))
  })

  it("that cannot be used are refused with the name of the setting", () => {
    const damaged = Buffer.from(one.cert)
    damaged.fill("A", 100, 140)
    for (const ca of [text, Buffer.alloc(0), der(), one.key, damaged, Buffer.concat([two.cert, damaged])])
      assert.include(faultOf({ ca, cert: undefined, key: undefined }), "BACKEND_TLS_CA")
    for (const cert of [text, der(), one.key])
      assert.include(faultOf({ ca: one.cert, cert, key: one.key }), "BACKEND_TLS_CERT: ")
    openssl("pkcs8", "-topk8", "-in", "one.key", "-passout", "pass:hush", "-out", "locked.key")
    for (const key of [text, one.cert, file("locked.key")])
      assert.include(faultOf({ ca: one.cert, cert: one.cert, key }), "BACKEND_TLS_KEY: the file")
    assert.include(faultOf({ ca: undefined, cert: one.cert, key: two.key }), "BACKEND_TLS_KEY: the key")
  })
})
