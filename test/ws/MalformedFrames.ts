/** Messages of feeds with something wrong in them, made of malformed requests of REST: the same seed, the same messages. */
import { malformed } from "../http/Malformed.ts"

const ops = ["subscribe", "unsubscribe", "ping", "auth", "nope", "__proto__", "event"]

/** Messages without end; each is to be answered. */
export function* malformedFrames(seed: number): Generator<string> {
  let no = 0
  for (const { body, target } of malformed(seed, { bearer: "Bearer x", basic: "Basic x" })) {
    no++
    const op = ops[no % ops.length]!
    const parts = target.split(/[/?&=]/u).map(decode)
    const message = { op, args: parts, req_id: no, bearer: parts.at(-1), since: parts[1] }
    const text = JSON.stringify(message)
    if (no % 11 === 0) yield text.slice(0, (no * 37) % text.length)
    else if (no % 7 === 0 && body !== undefined) yield String(body).slice(0, 60_000)
    else if (no % 5 === 0) yield JSON.stringify({ ...message, args: parts[0] })
    else if (no % 3 === 0) yield JSON.stringify({ ...message, args: [], req_id: parts })
    else yield text
  }
}

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}
