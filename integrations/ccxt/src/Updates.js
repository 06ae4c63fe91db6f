/** A bounded list of records by id, and those that a watcher has not received yet. */
export class Updates {
  #max
  #idOf
  #areFinal
  /** The newest record of each id, oldest first. */
  #records = new Map()
  /** Records that were not taken yet, by symbol; "" has those of all symbols. */
  #fresh = new Map()
  /** Names under which watchers wait. */
  hashes = new Set()

  /** `areFinal`: records never change, so one that is known is a repetition, as in the snapshot after a reconnect. */
  constructor(max, idOf, areFinal) {
    this.#max = max
    this.#idOf = idOf
    this.#areFinal = areFinal
  }
  /** Adds a record; returns whether it is new or changed. */
  append(record) {
    const id = this.#idOf(record)
    if (this.#areFinal && this.#records.has(id)) return false
    this.#records.delete(id)
    this.#records.set(id, record)
    if (this.#records.size > this.#max) this.#records.delete(this.#records.keys().next().value)
    for (const symbol of ["", record.symbol]) {
      const fresh = this.#fresh.get(symbol) ?? []
      if (fresh.push(record) > this.#max) fresh.shift()
      this.#fresh.set(symbol, fresh)
    }
    return true
  }
  hasFresh(symbol = "") {
    return (this.#fresh.get(symbol)?.length ?? 0) > 0
  }
  /** The newest record of each id, oldest first. */
  all() {
    return [...this.#records.values()]
  }
  /** Whether a record is still the newest of its id. */
  has(record) {
    return this.#records.get(this.#idOf(record)) === record
  }
  /** The records since the last call, or with `isAll` every record. */
  take(symbol = "", isAll = false) {
    const fresh = this.#fresh.get(symbol) ?? []
    this.#fresh.set(symbol, [])
    if (!isAll) return fresh
    return symbol === "" ? this.all() : this.all().filter((record) => record.symbol === symbol)
  }
}
