/**
 * What a caller is told about a signature that was refused, outside production: what was verified, and how a signature may
 * be written. It holds nothing but what the caller has sent, put together by the rules of
 * docs/contract/authentication.md.
 */
import type { Details } from "../../domain/Reason.ts"

const encodings = ["hex", "0x-hex", "base64", "base64url"]

/** @param explain - whether callers are told; in production they are not. */
export const make =
  (explain: boolean) =>
  (facts: { readonly signed_string: string } | { readonly hint: string }): Details =>
    explain ? { ...facts, signature_encodings: encodings } : {}
