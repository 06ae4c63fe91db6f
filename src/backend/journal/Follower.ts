/**
 * A second engine that follows a journal beside its writer and writes its own state as snapshots. The writer does not
 * wait for it, and each snapshot also proves that the journal replays.
 */
import type { Machine } from "../engine/Machine.ts"
import { Journal } from "./Journal.ts"
import { readError } from "./JournalError.ts"
import { recover, snapshot, type SnapshotPoint, type Taken } from "./Recovery.ts"
import { replay, type Replayed } from "./Replay.ts"

/** The follower builds no events: the newest ones come with the request. */
const NO_EVENTS = { events_kept_max: 0, bytes_kept_max: 0 }

export class Follower<S, C> {
  private readonly machine: Machine<S, C>
  private readonly journal: Journal
  /** The state after the entry at the position; undefined before the first snapshot and after a failed one. */
  private current: { readonly replayed: Replayed<S>; readonly position: number } | undefined

  /** Throws {@link JournalError} where there is no journal. */
  constructor(machine: Machine<S, C>, path: string) {
    this.machine = machine
    this.journal = Journal.read(path)
  }

  /**
   * Applies the entries up to a point and writes a snapshot. Throws {@link JournalError} where they do not replay; the
   * next call begins with the newest snapshot.
   */
  take(point: SnapshotPoint): Taken {
    const { current, journal, machine } = this
    const { position } = point
    this.current = undefined
    journal.refresh()
    try {
      const replayed =
        current === undefined
          ? recover(machine, journal, { limits: NO_EVENTS, until: position, warn: () => {} })
          : this.follow(current.replayed, current.position, position)
      const taken = snapshot(machine, journal, point, replayed)
      this.current = { replayed, position }
      return taken
    } finally {
      journal.pause()
    }
  }

  close(): void {
    this.journal.close()
  }

  private follow({ at_ms, links, state }: Replayed<S>, position: number, until: number): Replayed<S> {
    const from = { start: { state, position, at_ms }, links }
    try {
      return replay(this.machine, this.journal, { from, until, eventsFrom: Infinity })
    } catch (cause) {
      throw readError(this.journal.path, "through", cause)
    }
  }
}
