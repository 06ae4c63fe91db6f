import type { Event } from "../../proto/gateway/v1/sequencer.ts"
import { drain } from "../engine/Machine.ts"
import type { EventLog, EventTail } from "./EventLog.ts"

/** The events of an entry, with the checksum of the journal after it. */
interface EntryEvents {
  readonly events: ReadonlyArray<Event>
  readonly checksum: number
}

/** Collects the newest events of a replay, whole steps: only events that can still be requested are worth encoding. */
export class NewestEvents {
  private readonly max: number
  private count = 0
  private start = 0
  private kept: Array<EntryEvents> = []
  /** whether events were dropped */
  dropped = false

  constructor(max: number) {
    this.max = max
  }

  add(events: ReadonlyArray<Event>, checksum: number): void {
    this.kept.push({ events, checksum })
    this.count += events.length
    while (this.count - this.kept[this.start]!.events.length >= this.max) {
      this.count -= this.kept[this.start]!.events.length
      this.start++
      this.dropped = true
    }
    if (this.start > this.max) {
      this.kept = this.kept.slice(this.start)
      this.start = 0
    }
  }

  /** Appends the events to an empty log, after the tail of the snapshot. */
  into(log: EventLog, tail: EventTail | undefined): void {
    if (tail !== undefined && !this.dropped) log.restore(tail)
    else log.skipTo((this.kept[this.start]?.events[0]?.seq ?? 1) - 1)
    for (let i = this.start; i < this.kept.length; i++) {
      const { events, checksum } = this.kept[i]!
      drain(log.encoder.addAll(events, checksum))
      log.add(log.encoder.take())
    }
  }
}
