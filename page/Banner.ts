/** The line under the header that tells the truth about the connections; what may be old is dimmed. */
import { place, setAttribute, setText } from "./Dom.ts"
import { drawn, onFrame } from "./Frame.ts"
import type { Market } from "./Market.ts"
import type { Session } from "./Session.ts"
import { truthOf } from "./Truth.ts"

/** How often the age of the data is told, in ms; how often the gateway is pinged. */
const TOLD_MS = 500
const PING_MS = 5_000

export const mount = (market: Market, session: Session): void => {
  const [banner, words] = [place("truth"), place("truth-text")]
  let ping_ms: number | undefined

  const draw = (): void => {
    const { stale, text, tone } = truthOf({
      now_ms: Date.now(),
      market: market.line.value,
      heard_ms: market.heard_ms,
      own: session.who.value === undefined ? undefined : session.line.value,
      returned: session.returned.value,
      ping_ms
    })
    setAttribute(banner, "class", `truth ${tone}`)
    setText(words, text)
    // while all is well only figures change, which a screen reader need not say
    setAttribute(banner, "aria-live", tone === "good" && text.startsWith("Live") ? "off" : "polite")
    document.body.toggleAttribute("data-stale", stale)
  }
  drawn([market.line, session.line, session.who, session.returned], draw)
  setInterval(() => onFrame(draw), TOLD_MS)
  setInterval(() => {
    market.ping().then(
      (time) => (ping_ms = time),
      () => (ping_ms = undefined)
    )
  }, PING_MS)
}
