/** The banner under the header: it shows the connection status, and takes the colour from prices that may be out of date. */
import { place, setAttribute, setText } from "./Dom.ts"
import { drawn, onFrame } from "./Frame.ts"
import type { Market } from "./Market.ts"
import type { Session } from "./Session.ts"
import { statusOf } from "./ConnectionStatus.ts"

/** Time between updates of the data age, and between pings, in ms. */
const UPDATE_MS = 500
const PING_MS = 5_000

export const mount = (market: Market, session: Session): void => {
  const [banner, words] = [place("status"), place("status-text")]
  let ping_ms: number | undefined

  const draw = (): void => {
    const { stale, text, tone } = statusOf({
      now_ms: Date.now(),
      market: market.status.value,
      received_ms: market.received_ms,
      own: session.user.value === undefined ? undefined : session.status.value,
      returned: session.returned.value,
      ping_ms
    })
    setAttribute(banner, "class", `status ${tone}`)
    setText(words, text)
    // while live, only figures change; a screen reader need not announce them
    setAttribute(banner, "aria-live", tone === "good" && text.startsWith("Live") ? "off" : "polite")
    document.body.toggleAttribute("data-stale", stale)
  }
  drawn([market.status, session.status, session.user, session.returned], draw)
  setInterval(() => onFrame(draw), UPDATE_MS)
  setInterval(() => {
    market.ping().then(
      (time) => (ping_ms = time),
      () => (ping_ms = undefined)
    )
  }, PING_MS)
}
