/** Checks the PEM files of a TLS connection, so that the refusal of an unusable one names its setting. */
import { createPrivateKey, type KeyObject, X509Certificate } from "node:crypto"

/** The contents of the files; undefined where the setting is not set. */
export interface TlsFiles {
  readonly ca: Buffer | undefined
  readonly cert: Buffer | undefined
  readonly key: Buffer | undefined
}

const CERTIFICATE = /-----BEGIN CERTIFICATE-----.*?-----END CERTIFICATE-----/gsu

/** The certificates of a PEM file in their order; undefined where there is none, or one is damaged. */
const certificatesOf = (pem: Buffer): ReadonlyArray<X509Certificate> | undefined => {
  try {
    return pem
      .toString("latin1")
      .match(CERTIFICATE)
      ?.map((text) => new X509Certificate(text))
  } catch {
    return undefined
  }
}

const keyOf = (pem: Buffer): KeyObject | undefined => {
  try {
    return createPrivateKey(pem)
  } catch {
    return undefined
  }
}

/** Why the files cannot be used, with the name of the setting; undefined where they can. */
export const faultOf = ({ ca, cert, key }: TlsFiles): string | undefined => {
  if (ca !== undefined && certificatesOf(ca) === undefined) return "BACKEND_TLS_CA: the file is no PEM certificate"
  if (cert === undefined || key === undefined) return undefined
  const [own] = certificatesOf(cert) ?? []
  if (own === undefined) return "BACKEND_TLS_CERT: the file is no PEM certificate"
  const secret = keyOf(key)
  if (secret === undefined) return "BACKEND_TLS_KEY: the file is no PEM private key without a passphrase"
  return own.checkPrivateKey(secret) ? undefined : "BACKEND_TLS_KEY: the key is not that of BACKEND_TLS_CERT"
}
