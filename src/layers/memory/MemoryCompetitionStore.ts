/** Competitions in this process: a double for tests and trials, which forgets everything at its end. */
import { Effect, Layer } from "effect"
import { statusAt } from "../../domain/Competition.ts"
import {
  type CompetitionKey,
  type CompetitionRecord,
  CompetitionStore,
  type Entry,
  placeOf,
  SlugTaken,
  type Tally
} from "../../services/rewards/CompetitionStore.ts"
import { Outpaced } from "../../services/rewards/RewardStore.ts"

/** Latest start first. */
const latest = (a: CompetitionKey, b: CompetitionKey): number =>
  b.start_time_ms - a.start_time_ms || (a.id < b.id ? 1 : a.id === b.id ? 0 : -1)

export const layer: Layer.Layer<CompetitionStore> = Layer.sync(CompetitionStore, () => {
  const competitions = new Map<string, CompetitionRecord>()
  const tallies = new Map<string, Tally>()
  const entries = new Map<string, Map<string, Entry>>()
  const settling = new Set<string>()

  const taken = ({ id, slug }: CompetitionRecord): boolean =>
    [...competitions.values()].some((other) => other.slug === slug && other.id !== id)
  const put = (competition: CompetitionRecord): Effect.Effect<void, SlugTaken> => {
    if (taken(competition)) return Effect.fail(new SlugTaken())
    competitions.set(competition.id, competition)
    return Effect.void
  }
  const all = (id: string) => [...(entries.get(id)?.values() ?? [])]
  const placed = (id: string) =>
    all(id)
      .flatMap((entry) => {
        const place = placeOf(entry)
        return place === undefined ? [] : [{ place, entry }]
      })
      .sort((a, b) => (a.place < b.place ? -1 : 1))

  return CompetitionStore.of({
    create: (competition, counted_to) =>
      Effect.suspend(() =>
        Effect.tap(put(competition), () =>
          Effect.sync(() => tallies.set(competition.id, { revision: 0, counted_to, eligible_total: "0" }))
        )
      ),
    update: (competition, was) =>
      Effect.suspend((): Effect.Effect<void, SlugTaken | Outpaced> => {
        const { id, state } = competition
        const stays = state !== was && settling.has(id)
        return competitions.get(id)?.state !== was || stays ? Effect.fail(new Outpaced()) : put(competition)
      }),
    get: (id) => Effect.sync(() => competitions.get(id)),
    list: ({ status, symbol, now, limit, after }) =>
      Effect.sync(() =>
        [...competitions.values()]
          .filter(
            (one) =>
              one.state !== "draft" &&
              (status === undefined || statusAt(one, now) === status) &&
              (symbol === undefined || one.symbol === symbol) &&
              (after === undefined || latest(one, after) > 0)
          )
          .sort(latest)
          .slice(0, limit)
      ),
    running: (now) =>
      Effect.sync(() =>
        [...competitions.values()]
          .filter((one) => ["active", "ended"].includes(statusAt(one, now)))
          .sort((a, b) => (a.id < b.id ? -1 : 1))
      ),

    tally: (id) => Effect.sync(() => tallies.get(id)!),
    entries: (id, addresses) =>
      Effect.sync(() => all(id).filter(({ sub_account_address }) => addresses.includes(sub_account_address))),
    entriesOf: (id, user_id) => Effect.sync(() => all(id).filter((entry) => entry.user_id === user_id)),
    walk: (id, after, limit) =>
      Effect.sync(() =>
        all(id)
          .filter(({ sub_account_address }) => sub_account_address > after)
          .sort((a, b) => (a.sub_account_address < b.sub_account_address ? -1 : 1))
          .slice(0, limit)
      ),
    ranked: (id, after, limit) =>
      Effect.sync(() =>
        placed(id)
          .filter(({ place }) => after === undefined || place > after)
          .slice(0, limit)
          .map(({ entry }) => entry)
      ),
    ahead: (id, place, from = "") =>
      Effect.sync(() => placed(id).filter((one) => one.place >= from && one.place < place).length),
    advance: (id, tally, changed) =>
      Effect.suspend((): Effect.Effect<void, Outpaced> => {
        if (tallies.get(id)?.revision !== tally.revision - 1) return Effect.fail(new Outpaced())
        tallies.set(id, tally)
        const own = entries.get(id) ?? new Map<string, Entry>()
        entries.set(id, own)
        for (const entry of changed) own.set(entry.sub_account_address, entry)
        return Effect.void
      }),
    settle: (id) =>
      Effect.sync(() => {
        if (competitions.get(id)?.state !== "published") return false
        settling.add(id)
        return true
      }),
    finalize: (id, finalized_time) =>
      Effect.sync(() => {
        const known = competitions.get(id)!
        competitions.set(id, { ...known, finalized_time: known.finalized_time ?? finalized_time })
      })
  })
})
