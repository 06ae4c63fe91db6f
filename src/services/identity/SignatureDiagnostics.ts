/**
 * Diagnostics for a refused signature, outside production: what was verified, and the accepted encodings. They
 * contain only data that the caller sent, combined by the rules of docs/contract/authentication.md.
 */
import type { Details } from "../../domain/Reason.ts"

const encodings = ["hex", "0x-hex", "base64", "base64url"]

/** @param explain - whether diagnostics are returned; `false` in production. */
export const make =
  (explain: boolean) =>
  (facts: { readonly signed_string: string } | { readonly hint: string }): Details =>
    explain ? { ...facts, signature_encodings: encodings } : {}
