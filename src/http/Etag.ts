/** Entity tags of documents that rarely change: who has the newest is answered 304. Source: RFC 9110, 8.8.3, 13.1.2. */
import { hash } from "node:crypto"

/** The tag of a body. */
export const etagOf = (body: string | Uint8Array): string => `"${hash("sha256", body, "base64url").slice(0, 27)}"`

const opaque = (tag: string): string => tag.trim().replace(/^W\//u, "")

/** Whether If-None-Match names a tag; compressed forms of a body are the same to it. */
export const isKnown = (ifNoneMatch: string | undefined, etag: string): boolean =>
  ifNoneMatch !== undefined &&
  (ifNoneMatch.trim() === "*" || ifNoneMatch.split(",").some((each) => opaque(each) === opaque(etag)))
