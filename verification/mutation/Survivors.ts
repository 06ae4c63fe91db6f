/** Faults that the tests once did not find: lines of the source, what stands in their place, and the tests that find them now. */
import type { Mutant } from "../simulation/Mutant.ts"

export interface Survivor extends Mutant {
  readonly name: string
  /** files of tests */
  readonly tests: ReadonlyArray<string>
}

export const SURVIVORS: ReadonlyArray<Survivor> = [
  {
    name: "the sweep of revoked tokens deletes those that are still good",
    module: "/identity/Tokens.ts",
    right: "if (expires_at_ms <= expired_ms) revoked.delete(jti)",
    wrong: "revoked.delete(jti)",
    tests: ["test/services/identity/Tokens.test.ts"]
  },
  {
    name: "the read of revoked tokens allows for no difference of clocks",
    module: "/identity/CredentialChanges.ts",
    right: "known_ms = changed.read_ms - LATE_MS",
    wrong: "known_ms = changed.read_ms",
    tests: ["test/services/identity/CredentialChanges.test.ts"]
  },
  {
    name: "a repeated command_id is answered to another user",
    module: "/server/Writer.ts",
    right: "if (original.user_id === command.user_id) return",
    wrong: "return",
    tests: ["test/backend/server/Writer.test.ts"]
  },
  {
    name: "the dead-man's switch does not wait for the other gateways",
    module: "/trading/DeadMansSwitch.ts",
    right: "yield* presence.settled",
    wrong: "",
    tests: ["test/services/trading/DeadMansSwitch.test.ts"]
  },
  {
    name: "a switch that is set again while the user is absent stays done",
    module: "/trading/Absence.ts",
    right: "began_ms: undefined, canceled: false, isSaved: false })",
    wrong: "began_ms: undefined, canceled: this.windowOf(address).canceled, isSaved: false })",
    tests: ["test/services/trading/DeadMansSwitch.test.ts"]
  },
  {
    name: "the notice of a narrowed key does not end its grant",
    module: "/identity/ApiKeys.ts",
    right: "public_key, ended: hasEnded(before, after) })",
    wrong: "public_key, ended: after.revoked })",
    tests: ["test/services/identity/ApiKeys.test.ts"]
  },
  {
    name: "a key that changes while it is read is kept as it was",
    module: "/identity/ActiveKeys.ts",
    right: "if (reading.isStale) continue",
    wrong: "",
    tests: ["test/services/identity/ApiKeys.test.ts"]
  },
  {
    name: "after an outage of Redis a gateway does not write its whole set",
    module: "/redis/RedisPresence.ts",
    right: "            isWritten = false\n            isConnected = false",
    wrong: "            isConnected = false",
    tests: ["test/layers/redis/RedisPresence.test.ts"]
  },
  {
    name: "Redis forgets how late its clock was",
    module: "/redis/RedisNonceStore.ts",
    right: 'if now >= seen then redis.call("HSET", KEYS[1], "seen", now) end',
    wrong: 'redis.call("HSET", KEYS[1], "seen", now)',
    tests: ["test/layers/redis/RedisStores.test.ts"]
  },
  {
    name: "a late answer does not give its place back",
    module: "/grpc/CommandStream.ts",
    right: 'if (pending.state === "done") this.overdue--',
    wrong: 'if (pending.state === "done") return',
    tests: ["test/layers/grpc/CommandStreamCapacity.test.ts"]
  },
  {
    name: "the loss of a stream does not give the places of late answers back",
    module: "/grpc/CommandStream.ts",
    right: "    this.written.clear()\n    this.overdue = 0",
    wrong: "    this.written.clear()",
    tests: ["test/layers/grpc/CommandStreamCapacity.test.ts"]
  },
  {
    name: "the third command under one command_id is lost",
    module: "/grpc/CommandStream.ts",
    right: "while (last.next !== undefined) last = last.next",
    wrong: "",
    tests: ["test/layers/grpc/CommandStreamCapacity.test.ts"]
  },
  {
    name: "failed claims of nonces go on counting",
    module: "/sql/SqlNonceStore.ts",
    right: "const cause = Cause.squash(failed)\n        count -= claims.length",
    wrong: "const cause = Cause.squash(failed)",
    tests: ["test/layers/sql/SqlStores.test.ts"]
  },
  {
    name: "the mark of forgotten nonces moves back",
    module: "/sql/SqlNonceStore.ts",
    right: "\n      WHERE windowed_nonces.expires_at_ms < excluded.expires_at_ms`",
    wrong: "`",
    tests: ["test/layers/sql/SqlStores.test.ts"]
  },
  {
    name: "a writer that is behind moves the position back",
    module: "/sql/SqlHistory.ts",
    right: "SET ${assigned} WHERE one = 1 AND epoch = ? AND seq = ?",
    wrong: "SET ${assigned} WHERE one = 1 AND epoch = ? AND seq >= ?",
    tests: ["test/layers/sql/SqlHistory.test.ts"]
  },
  {
    name: "a refused commit counts as written over a new beginning",
    module: "/read-model/Backlog.ts",
    right: "at.epoch !== numbering.epoch || at.began !== numbering.began",
    wrong: "at.epoch !== numbering.epoch",
    tests: ["test/services/read-model/HistoryWriter.test.ts"]
  },
  {
    name: "a rebuild joins reads of two epochs",
    module: "/read-model/RebuildReadModel.ts",
    right: "if (before.epoch !== after.epoch) return",
    wrong: "if (before.head_seq < 0) return",
    tests: ["test/services/read-model/Projector.test.ts"]
  },
  {
    name: "a restart of the user stream is refused by a full inbox",
    module: "/ws/Session.ts",
    right: 'if (frame !== "interruption" && inbox.length >=',
    wrong: "if (inbox.length >=",
    tests: ["test/ws/Session.test.ts"]
  },
  {
    name: "a fill-or-kill order ignores that its maker only reduces",
    module: "/sequencer/FillOrKill.ts",
    right: "if (maker.reduceOnly) lots = Math.min(lots, Accounts.closableLots(simulatedOf(maker).lots, maker.side))",
    wrong: "",
    tests: ["test/backend/engine/Orders.test.ts"]
  },
  {
    name: "a fill-or-kill order judges each order of one maker apart",
    module: "/sequencer/FillOrKill.ts",
    right: "    release(maker, makerAfter, lots)\n",
    wrong: "",
    tests: ["test/backend/engine/Orders.test.ts"]
  },
  {
    name: "the pool pays while positions remain",
    module: "/referee/Liquidation.ts",
    right: "if (positions.length === 1) coverDeficit",
    wrong: "coverDeficit",
    tests: ["test/backend/engine/Liquidation.test.ts"]
  },
  {
    name: "deleveraging takes a part of an Isolated position",
    module: "/referee/Adl.ts",
    right: "return isolated ? 0 : Number(",
    wrong: "return Number(",
    tests: ["test/backend/engine/Liquidation.test.ts"]
  },
  {
    name: "a payment of funding does not make its payers judged",
    module: "/referee/Funding.ts",
    right: "  ctx.repricedMarkets.add(market)\n  for",
    wrong: "  for",
    tests: ["test/backend/engine/Funding.test.ts"]
  },
  {
    name: "funding is paid in the order of opening",
    module: "/referee/Funding.ts",
    right: "yield* sort(market.holders, Accounts.byAddress)",
    wrong: "market.holders",
    tests: ["test/backend/engine/Funding.test.ts"]
  },
  {
    name: "a body keeps __proto__ beside another removed field",
    module: "/http/StrictJson.ts",
    right: '|| name === "__proto__"',
    wrong: '|| (name === "__proto__" && kept === undefined)',
    tests: ["test/http/StrictJson.test.ts"]
  },
  {
    name: "a list names the position after its read",
    module: "/read-model/StreamMarks.ts",
    right: "seq: isComplete ? shown :",
    wrong: "seq: isComplete ? streams.head(user_id) :",
    tests: ["test/services/read-model/PortfolioQueries.test.ts"]
  },
  {
    name: "a waiter is not woken at exactly its position",
    module: "/read-model/SeqWaiters.ts",
    right: "if (waiter.seq > seq) continue",
    wrong: "if (waiter.seq >= seq) continue",
    tests: ["test/services/read-model/Projector.test.ts"]
  },
  {
    name: "the measured clock of the engine survives a loss",
    module: "/read-model/LaneProgress.ts",
    right: "    this.clockOffsets = []\n    this.health.sequencerLost()",
    wrong: "    this.health.sequencerLost()",
    tests: ["test/services/read-model/Projector.test.ts"]
  },
  {
    name: "a kept answer has the revision from after it was made",
    module: "/fast/FastReads.ts",
    right: "kept.set(url, { revision, parts",
    wrong: "kept.set(url, { revision: view.revision(), parts",
    tests: ["test/http/fast/FastReads.test.ts"]
  },
  {
    name: "a request of the fast path goes on after its caller left",
    module: "/fast/FastPath.ts",
    right: "if (!response.writableEnded) Effect.runFork(Fiber.interrupt(fiber))",
    wrong: "",
    tests: ["test/http/fast/Orders.test.ts"]
  },
  {
    name: "a body in a content coding is read",
    module: "/security/Body.ts",
    right: 'headers["content-encoding"] !== undefined',
    wrong: 'headers["content-encoding"] === ""',
    tests: ["test/http/Envelope.test.ts"]
  },
  {
    name: "a bad key in a registration is a bad credential",
    module: "/http/handlers/UserHandlers.ts",
    right: 'failure._tag === "ApiKeyRefused" && failure.reason === "InvalidPublicKey"',
    wrong: "false",
    tests: ["test/http/Envelope.test.ts", "test/spec/Endpoints.test.ts"]
  },
  {
    name: "failed tries of a socket are not forgotten after a success",
    module: "/ws/Session.ts",
    right: "    this.caller = caller\n    this.failedAuths = 0",
    wrong: "    this.caller = caller",
    tests: ["test/ws/Session.test.ts"]
  },
  {
    name: "a resume answers a head behind the position of the client",
    module: "/read-model/UserSnapshots.ts",
    right: "if (since.seq > streams.head(user_id) && !(yield* shown(user_id, since.seq)))",
    wrong: "if (since.seq < 0)",
    tests: ["test/services/read-model/UserSnapshots.test.ts"]
  },
  {
    name: "a delta of a book goes over a change of the stream",
    module: "/ws/BookTopic.ts",
    right: "if (before === undefined || before.stream_id !== after.stream_id)",
    wrong: "if (before === undefined)",
    tests: ["test/ws/BookTopic.test.ts"]
  },
  {
    name: "hours that are over are read before the running ones",
    module: "/sql/LedgerReads.ts",
    right: "    const running = yield* read(`last_${table}`, start)",
    wrong:
      "    const over = yield* read(table, start)\n    const running = yield* read(`last_${table}`, start)\n    if (over.length === 0) return running.map(rowOf)",
    tests: ["test/layers/sql/SqlHistory.test.ts"]
  },
  {
    name: "the amendment of an exit is not announced with its position",
    module: "/sequencer/Amend.ts",
    right: "if (order.stopType !== StopOrderType.STOP_ORDER_TYPE_STOP) ctx.changedExits.add(order.holding)",
    wrong: "",
    tests: ["test/backend/engine/TakeProfitStopLoss.test.ts"]
  },
  {
    name: "a result has the seq of its last fill in a batch",
    module: "/domain/Ledger.ts",
    right: "seq: this.closedPnls.get(order_id)?.seq ?? seq, closed })",
    wrong: "seq, closed })",
    tests: ["test/domain/Projection.test.ts"]
  },
  {
    name: "the open interest is sampled again in an interval",
    module: "/domain/Projection.ts",
    right: "timestamp <= (this.sampled",
    wrong: "timestamp < (this.sampled",
    tests: ["test/domain/Projection.test.ts"]
  },
  {
    name: "a round trip is not halved",
    module: "/client/Client.ts",
    right: "Math.round((sent + clock.currentTimeMillisUnsafe()) / 2)",
    wrong: "clock.currentTimeMillisUnsafe()",
    tests: ["test/client/Client.test.ts"]
  },
  {
    name: "topics that are followed are subscribed again",
    module: "/client/FeedLoop.ts",
    right: "topics.subscribe(added, (result)",
    wrong: "topics.subscribe(names, (result)",
    tests: ["test/client/Feed.test.ts"]
  },
  {
    name: "a repeated read may have changed something",
    module: "/sdk/Rest.ts",
    right: 'if (!isUnknown || call.method === "GET") continue',
    wrong: "if (!isUnknown) continue",
    tests: ["test/sdk/Rest.test.ts"]
  },
  {
    name: "a 429 counts as a try",
    module: "/sdk/Rest.ts",
    right: "const count = isFull ? refusals++ : tries++",
    wrong: "const count = isFull ? (tries++, refusals++) : tries++",
    tests: ["test/sdk/Rest.test.ts"]
  },
  {
    name: "a credential is good at the millisecond of its end",
    module: "/ws/Session.ts",
    right: "expires <= wall_ms",
    wrong: "expires < wall_ms",
    tests: ["test/ws/Session.test.ts"]
  },
  {
    name: "a book whose sides touch is shown",
    module: "/ws/BookTopic.ts",
    right: ">= Decimal.parse(asks[0]![0])",
    wrong: "> Decimal.parse(asks[0]![0])",
    tests: ["test/ws/BookTopic.test.ts"]
  },
  {
    name: "one event less is kept aside",
    module: "/ws/PrivateFeed.ts",
    right: "messages.length > BUFFERED_MAX",
    wrong: "messages.length >= BUFFERED_MAX",
    tests: ["test/ws/PrivateFeed.test.ts"]
  },
  {
    name: "a body is nested one level deeper",
    module: "/http/StrictJson.ts",
    right: "depth > DEPTH_MAX",
    wrong: "depth > DEPTH_MAX + 1",
    tests: ["test/http/StrictJson.test.ts"]
  },
  {
    name: "one trade too many is kept",
    module: "/sql/ProjectionWriter.ts",
    right: "OFFSET ${TRADES_KEPT - 1}",
    wrong: "OFFSET ${TRADES_KEPT}",
    tests: ["test/layers/sql/SqlHistory.test.ts"]
  },
  {
    name: "a maximum of a pool is dropped a minute early",
    module: "/referee/Pools.ts",
    right: "peaks[0]!.minute < minute",
    wrong: "peaks[0]!.minute <= minute",
    tests: ["test/backend/engine/Liquidation.test.ts"]
  },
  {
    name: "a drawdown ends at its ending ratio",
    module: "/referee/Pools.ts",
    right: "pool.ratio <= ENDING_RATIO",
    wrong: "pool.ratio < ENDING_RATIO",
    tests: ["test/backend/engine/Liquidation.test.ts"]
  },
  {
    name: "a side that holds exactly the impact value is too thin",
    module: "/referee/Funding.ts",
    right: "if (value >= left)",
    wrong: "if (value > left)",
    tests: ["test/backend/engine/Funding.test.ts"]
  },
  {
    name: "the limit of a tier lies in the next one",
    module: "/domain/Margin.ts",
    right: "value <= tiers[i]!.limit",
    wrong: "value < tiers[i]!.limit",
    tests: ["test/domain/Margin.test.ts"]
  },
  {
    name: "the share of an opening fee is rounded down",
    module: "/domain/Margin.ts",
    right: 'divide(entry.openFee * closedSize, held, "up")',
    wrong: 'divide(entry.openFee * closedSize, held, "down")',
    tests: ["test/domain/Margin.test.ts"]
  },
  {
    name: "a liquidation price at the lowest price is not shown",
    module: "/domain/Margin.ts",
    right: "price < limits.min ||",
    wrong: "price <= limits.min ||",
    tests: ["test/domain/Margin.test.ts"]
  },
  {
    name: "a cursor has several texts",
    module: "/domain/Cursor.ts",
    right: "return toBase64Url(bytes) === text ? bytes : undefined",
    wrong: "return bytes",
    tests: ["test/services/read-model/HistoryQueries.test.ts"]
  },
  {
    name: "the name of a snapshot is not synced",
    module: "/journal/Snapshots.ts",
    right: "  Directory.sync(directory)\n",
    wrong: "",
    tests: ["test/backend/journal/Snapshots.test.ts"]
  },
  {
    name: "the first position of a history begins at 1",
    module: "/domain/Projection.ts",
    right: "began: after?.began ?? 0,\n      ts_ms: last.ts_ms",
    wrong: "began: after?.began ?? 1,\n      ts_ms: last.ts_ms",
    tests: ["test/domain/Projection.test.ts"]
  },
  {
    name: "the portfolio sums no payments of funding",
    module: "/engine/Reads.ts",
    right: "      funding -= Funding.paymentOf(holding, market.predictedRate)\n",
    wrong: "",
    tests: ["test/backend/engine/Funding.test.ts"]
  },
  {
    name: "a message ends with its first fragment",
    module: "/ws/FrameScanner.ts",
    right: "this.fragmented = (first & FIN) === 0",
    wrong: "this.fragmented = (first & FIN) === 1",
    tests: ["test/ws/FrameScanner.test.ts"]
  },
  {
    name: "a span of one time is refused",
    module: "/operations/Paging.ts",
    right: "return start > end ?",
    wrong: "return start >= end ?",
    tests: ["test/services/operations/Paging.test.ts"]
  },
  {
    name: "a single message ends a flood",
    module: "/ws/MessageRate.ts",
    right: "2 * NOTICE_MS",
    wrong: "2 / NOTICE_MS",
    tests: ["test/ws/MessageRate.test.ts"]
  },
  {
    name: "a restore begins no fork",
    module: "/backend/Restore.ts",
    right: "journal.beginFork(fork, head_seq, now_ms)",
    wrong: "",
    tests: ["test/e2e/Restore.test.ts"]
  },
  {
    name: "a copy with entries that the database lost is built anew",
    module: "/shared/Copy.ts",
    right: "if (onReplaced === undefined && !isAccepted)",
    wrong: "if (position < 0 || onReplaced === null)",
    tests: ["test/backend/journal/shared/Standby.test.ts"]
  },
  {
    name: "a leader does not compare its position with the database",
    module: "/shared/Lease.ts",
    right: "if (position !== end && position !== request?.turn.position)",
    wrong: "if (position < 0)",
    tests: ["test/backend/journal/shared/Standby.test.ts"]
  },
  {
    name: "a journal that ends before its last commit is opened",
    module: "/journal/Journal.ts",
    right: "if (position > journal.position)",
    wrong: "if (position < 0)",
    tests: ["test/backend/journal/Journal.test.ts"]
  },
  {
    name: "a leader that cannot commit keeps the lead",
    module: "/read-model/HistoryWriter.ts",
    right: "progressed_ms = now()\n      return leadership.resign",
    wrong: "progressed_ms = now()\n      return Effect.void",
    tests: ["test/services/read-model/HistoryWriter.test.ts"]
  },
  {
    name: "engine time is the time of the wall clock, and waits for it",
    module: "/server/EngineClock.ts",
    right: "this.time += behind > 0 ? Math.min(behind, elapsed * CATCH_UP) : Math.max(behind, -elapsed * FALL_BACK)",
    wrong: "this.time += behind > 0 ? behind : Math.max(behind, -elapsed)",
    tests: ["test/backend/server/EngineClock.test.ts"]
  },
  {
    name: "deleted nonces of a clock that was ahead refuse every earlier time",
    module: "/sql/SqlNonceStore.ts",
    right: "mark.digest BETWEEN ${beginOf(now - RANGE_MS)} AND ${beginOf(now + 2 * retention_ms)}",
    wrong: "mark.digest >= ${beginOf(now - RANGE_MS)}",
    tests: ["test/layers/sql/SqlStores.test.ts"]
  },
  {
    name: "events that memory no longer has are not replayed",
    module: "/server/EventStream.ts",
    right: "this.replays !== undefined && seq + 1 < log.oldest",
    wrong: "this.replays !== undefined && seq + 1 < 0",
    tests: ["test/backend/server/EventStream.test.ts"]
  },
  {
    name: "a promotion that may have lost changes is trusted",
    module: "/sql/Promotions.ts",
    right: "const until_ms = isLossless ? 0 : now_ms + SEEN_WITHIN_MS",
    wrong: "const until_ms = 0",
    tests: ["test/layers/sql/Promotions.test.ts"]
  },
  {
    name: "a Redis that starts without its data accepts nonces at once",
    module: "/redis/RedisNonceStore.ts",
    right: "if not since or isLost or",
    wrong: "if not since or",
    tests: ["test/layers/redis/RedisOutages.test.ts"]
  },
  {
    name: "the absences of before a restart are not read",
    module: "/trading/DeadMansSwitch.ts",
    right: 'if (absence.inStore === "unread") yield* records.restore(user_id, absence, RESTART_MS)',
    wrong: "",
    tests: ["test/services/trading/DeadMansSwitch.test.ts"]
  },
  {
    name: "the version of the read model is not compared",
    module: "/read-model/MatchVersion.ts",
    right: "if (at?.version === undefined || at.version === version) return head",
    wrong: "return head",
    tests: ["test/services/read-model/Versions.test.ts"]
  },
  {
    name: "a change of the rules keeps no closing snapshot",
    module: "/journal/Recovery.ts",
    right: "    ClosingSnapshots.keep(journal.path, from.start.position)\n",
    wrong: "",
    tests: ["test/backend/journal/Recover.test.ts"]
  },
  {
    name: "a journal of an older layout is refused",
    module: "/journal/JournalSchema.ts",
    right: 'new Set(["6", "7"])',
    wrong: "new Set()",
    tests: ["test/backend/journal/Journal.test.ts"]
  },
  {
    name: "a lost read model of a restored backend continues",
    module: "/server/EventStream.ts",
    right: "if (next === undefined || seq > next.head_seq) return false",
    wrong: "if (next === undefined) return false",
    tests: ["test/backend/server/EventStream.test.ts"]
  }
]
