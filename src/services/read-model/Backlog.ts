/**
 * What a gateway shows and the history does not hold yet: consecutive projections after the written position, and for
 * each user and market the seq that its lists need.
 */
import type { ModelPosition, Projection } from "../../domain/Projection.ts"

interface Entry {
  readonly projection: Projection
  /** When it was added; monotonic, in ms. */
  readonly since_ms: number
}

/** The users and markets whose lists a projection changes. */
const usersOf = (projection: Projection): ReadonlyArray<string> => [
  ...projection.heads.map(({ user_id }) => user_id),
  ...projection.movements.map(({ movement }) => movement.user_id),
  ...projection.subAccounts.map(({ user_id }) => user_id)
]
const marketsOf = (projection: Projection): ReadonlyArray<string> => [
  ...projection.trades.map(({ trade }) => trade.symbol),
  ...projection.candles.map(({ symbol }) => symbol),
  ...projection.fundings.map(({ funding }) => funding.symbol),
  ...projection.openInterest.map(({ record }) => record.symbol),
  ...projection.pools.map(({ symbol }) => symbol),
  ...projection.alerts.map(({ alert }) => alert.symbol)
]

type Numbering = Pick<ModelPosition, "epoch" | "began" | "stream" | "version">

/** Why a position of the history does not follow an earlier one; undefined if it does. */
const faultBetween = (
  written: ModelPosition | undefined,
  numbering: Numbering | undefined,
  at: ModelPosition | undefined
): string | undefined => {
  if (at === undefined) return written === undefined ? undefined : "the history is empty"
  if (
    numbering !== undefined &&
    (at.epoch !== numbering.epoch || at.began !== numbering.began || at.stream !== numbering.stream)
  ) {
    return "the read model was rebuilt"
  }
  if (numbering?.version !== undefined && at.version !== numbering.version) {
    return `the read model has version ${at.version}`
  }
  return at.seq < (written?.seq ?? 0) ? `the history went back to ${at.seq}` : undefined
}

export class Backlog {
  /** Position of the history, as far as this gateway has seen it. */
  written: ModelPosition | undefined
  private entries: Array<Entry> = []
  /** Seq of the last unwritten event, by user and by market. */
  private readonly users = new Map<string, number>()
  private readonly markets = new Map<string, number>()

  constructor(written: ModelPosition | undefined) {
    this.written = written
  }

  /** Unwritten events: they are numbered without a gap. */
  get events(): number {
    return this.seq - this.writtenSeq
  }
  get isEmpty(): boolean {
    return this.entries.length === 0
  }
  get writtenSeq(): number {
    return this.written?.seq ?? 0
  }
  /** Seq of the last event. */
  get seq(): number {
    return this.entries.at(-1)?.projection.position.seq ?? this.writtenSeq
  }
  /** When the oldest entry was added; monotonic, in ms. */
  get since_ms(): number | undefined {
    return this.entries[0]?.since_ms
  }
  /** The numbering; undefined before the first event. */
  get numbering(): Numbering | undefined {
    return this.written ?? this.entries[0]?.projection.position
  }
  /** The first projection, if a part of it is written. */
  get divided(): Projection | undefined {
    const first = this.entries[0]?.projection
    return first !== undefined && (first.after?.seq ?? 0) < this.writtenSeq ? first : undefined
  }

  /** Adds the next projection. */
  add(projection: Projection, now_ms: number): void {
    const { seq } = projection.position
    if (seq <= this.writtenSeq) return
    this.entries.push({ projection, since_ms: now_ms })
    for (const user_id of usersOf(projection)) this.users.set(user_id, seq)
    for (const symbol of marketsOf(projection)) this.markets.set(symbol, seq)
  }

  /** The first projections, up to a number of events but at least one. */
  batch(events_max: number): ReadonlyArray<Projection> {
    const batch: Array<Projection> = []
    for (const { projection } of this.entries) {
      if (batch.length > 0 && projection.position.seq > this.writtenSeq + events_max) break
      batch.push(projection)
    }
    return batch
  }

  /** The history has reached a position of this numbering; it may be beyond the last entry. */
  advance(to: ModelPosition): void {
    this.written = to
    let dropped = 0
    for (const { projection } of this.entries) {
      if (projection.position.seq > to.seq) break
      dropped++
      for (const user_id of usersOf(projection)) if (this.userSeq(user_id) <= to.seq) this.users.delete(user_id)
      for (const symbol of marketsOf(projection)) if (this.marketSeq(symbol) <= to.seq) this.markets.delete(symbol)
    }
    this.entries.splice(0, dropped)
  }

  /** Why a position of the history does not follow what is written; undefined if it does. */
  faultOf(at: ModelPosition | undefined): string | undefined {
    return faultBetween(this.written, this.numbering, at)
  }
  /**
   * What is unwritten now, for a read of the history that begins now. `after`: the projections that follow the position of
   * that read; undefined if the position is of another history.
   */
  view(): {
    readonly projections: ReadonlyArray<Projection>
    readonly after: (at: ModelPosition | undefined) => ReadonlyArray<Projection> | undefined
  } {
    const { numbering, written } = this
    const projections = this.entries.map(({ projection }) => projection)
    return {
      projections,
      after: (at) =>
        faultBetween(written, numbering, at) === undefined
          ? projections.filter(({ position }) => position.seq > (at?.seq ?? 0))
          : undefined
    }
  }

  /** Replaces the first projection by the part of it that is not written. */
  replaceDivided(projection: Projection): void {
    this.entries[0] = { projection, since_ms: this.entries[0]!.since_ms }
  }

  /** The seq that lists of a user or a market need; 0 if all is written. */
  userSeq(user_id: string): number {
    return this.users.get(user_id) ?? 0
  }
  marketSeq(symbol: string): number {
    return this.markets.get(symbol) ?? 0
  }
  /** The written head of a user's stream; undefined if nothing of it is unwritten. */
  writtenHead(user_id: string): number | undefined {
    if (this.userSeq(user_id) === 0) return undefined
    for (const { projection } of this.entries) {
      const first = projection.userEvents.find((event) => event.user_id === user_id)
      if (first !== undefined) return first.seq - 1
    }
    return undefined
  }
}
