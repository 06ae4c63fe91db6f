/** Requests at a rate, whatever the answers: free callers send what is due. */
import type { Caller } from "./Caller.ts"

const TICK_MS = 5
/** Due requests wait so long for a free caller, in ms; older ones are dropped. */
const WAIT_MS = 100

export class Pacer {
  /** Requests for which no caller was free. */
  unsent = 0
  private due = 0
  private readonly perMs: number

  /** `rate`: requests a second. */
  constructor(rate: number) {
    this.perMs = rate / 1_000
  }

  /** Whether a request is due; takes it. */
  take(): boolean {
    if (this.due < 1) return false
    this.due--
    return true
  }

  /** Starts to wake free callers; returns what ends it. */
  begin(callers: ReadonlyArray<Caller>): () => void {
    let last = performance.now()
    let next = 0
    const timer = setInterval(() => {
      const now = performance.now()
      this.due += (now - last) * this.perMs
      last = now
      for (let i = 0; i < callers.length && this.due >= 1; i++) callers[next++ % callers.length]!.wake()
      const most = WAIT_MS * this.perMs
      this.unsent += Math.max(0, this.due - most)
      this.due = Math.min(this.due, most)
    }, TICK_MS)
    return () => clearInterval(timer)
  }
}
