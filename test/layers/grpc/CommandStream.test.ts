import { Effect, Exit, Scope } from "effect"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import { Grant } from "../../../src/domain/Grant.ts"
import { Journal } from "../../../src/backend/journal/Journal.ts"
import { replay } from "../../../src/backend/journal/Replay.ts"
import { journalPath } from "../../../src/backend/server/Running.ts"
import * as Channel from "../../../src/layers/grpc/Channel.ts"
import {
  CommandStream,
  DEADLINE_MS,
  type Outcome,
  PENDING_COMMANDS_MAX
} from "../../../src/layers/grpc/CommandStream.ts"
import { CancelAll } from "../../../src/proto/gateway/v1/sequencer.ts"
import { type Running, start, temporary } from "../../doubles/FakeBackend.ts"
import { deposit, fakeMachine } from "../../doubles/FakeMachine.ts"
import { ManualLease } from "../../doubles/ManualLease.ts"
import { FaultProxy } from "../../../verification/harness/FaultProxy.ts"
import { until } from "../../../verification/harness/Wait.ts"

const still = { machine: { ...fakeMachine, tickMatters: () => false } }

let place: ReturnType<typeof temporary>
let backend: Running
let proxy: FaultProxy
let scope: Scope.Closeable
let stream: CommandStream

const connect = async (options: { readonly secret?: string } = {}) => {
  place = temporary()
  backend = await start(place.directory, { ...still, secret: options.secret })
  proxy = await FaultProxy.start(backend.port)
  scope = Effect.runSync(Scope.make())
  const endpoint = { address: `127.0.0.1:${proxy.port}`, secret: undefined, tls: undefined }
  const channel = await Effect.runPromise(Channel.make(endpoint).pipe(Scope.provide(scope)))
  stream = new CommandStream(channel, { chance: () => 0.5 })
}
afterEach(async () => {
  stream.close()
  await Effect.runPromise(Scope.close(scope, Exit.void))
  await proxy.close()
  await backend.stop()
  place.remove()
})

/** Collects outcomes by command_id; a second outcome of one id fails the test. */
class Outcomes {
  readonly all = new Map<string, Outcome>()
  private wake: (() => void) | undefined
  readonly take = (id: string) => (outcome: Outcome) => {
    assert.isFalse(this.all.has(id), `${id} has two outcomes`)
    this.all.set(id, outcome)
    this.wake?.()
  }
  reach(count: number): Promise<void> {
    return new Promise((resolve) => {
      this.wake = () => this.all.size >= count && resolve()
      this.wake()
    })
  }
  count(): Record<string, number> {
    const counts: Record<string, number> = {}
    for (const outcome of this.all.values()) counts[outcome!.$case] = (counts[outcome!.$case] ?? 0) + 1
    return counts
  }
}

const submitAll = (outcomes: Outcomes, count: number, name: string) => {
  for (let i = 0; i < count; i++) stream.submit(deposit(1, `${name}-${i}`), outcomes.take(`${name}-${i}`))
}

/** Submits commands and cuts the stream when so many have an outcome; resolves when all have one. */
const cutAmid = async (outcomes: Outcomes, count: number, done: number) => {
  submitAll(outcomes, 1, "first")
  await outcomes.reach(1)
  submitAll(outcomes, count, "cut")
  await outcomes.reach(done)
  proxy.cut()
  await outcomes.reach(count + 1)
  assert.isAbove(outcomes.count()["unknown"] ?? 0, 0, "the cut came too late to test anything")
}

/** The command_ids in the journal. */
const journalled = (): ReadonlySet<string> => {
  const journal = Journal.read(journalPath(place.directory))
  const found = new Set<string>()
  const spy = {
    ...still.machine,
    apply: (...[state, input]: Parameters<typeof fakeMachine.apply>) => {
      const { command_id } = input.command!
      assert.isFalse(found.has(command_id), `${command_id} was sequenced twice`)
      found.add(command_id)
      return fakeMachine.apply(state, input)
    }
  }
  replay(spy, journal)
  journal.close()
  return found
}

describe("CommandStream", () => {
  beforeEach(() => connect())

  it("gives 10,000 commands one outcome each while the stream is cut, and sequences none twice", async () => {
    const outcomes = new Outcomes()
    await cutAmid(outcomes, 10_000, 1_500)
    assert.isAbove(outcomes.count()["ack"] ?? 0, 0)
    const found = journalled()
    for (const [id, outcome] of outcomes.all) {
      if (outcome!.$case === "ack") assert.isTrue(found.has(id), `${id} was acknowledged and is not in the journal`)
      if (outcome!.$case === "unavailable")
        assert.isFalse(found.has(id), `${id} was called unsequenced and is in the journal`)
    }
    // after an outage of a second, on a busy machine, one command finds out whether the sequencer is back
    await until("the stream is open", () => stream.connected)
    const probes = new Outcomes()
    for (let sent = 1; (probes.count()["ack"] ?? 0) === 0; sent++) {
      submitAll(probes, 1, `probe-${sent}`)
      await probes.reach(sent)
    }
    const after = new Outcomes()
    submitAll(after, 10, "after")
    await after.reach(10)
    assert.deepStrictEqual(after.count(), { ack: 10 })
  })

  it("keeps its next stream, though commands of the lost one never have a result", async () => {
    await cutAmid(new Outcomes(), 5_000, 500)
    await until("the stream is open", () => stream.connected)
    // a stream whose oldest command is as late as this is stuck
    const end = performance.now() + DEADLINE_MS + Channel.SILENCE_MS_MAX + 500
    const after = new Outcomes()
    let sent = 0
    await until("the time of a stuck stream", () => {
      submitAll(after, 1, `after-${++sent}`)
      return performance.now() > end
    })
    await after.reach(sent)
    const { ack = 0, ...others } = after.count()
    // the first ones may find a sequencer that is not known to be back
    assert.deepStrictEqual([others["unknown"], ack > 0.9 * sent], [undefined, true], JSON.stringify(others))
  })

  it("reports a written command without a result in time as unknown", async () => {
    const outcomes = new Outcomes()
    submitAll(outcomes, 1, "warm")
    await outcomes.reach(1)
    proxy.swallow()
    const began = performance.now()
    submitAll(outcomes, 3, "frozen")
    await outcomes.reach(4)
    const took = performance.now() - began
    assert.deepStrictEqual(outcomes.count(), { ack: 1, unknown: 3 })
    // timers may fire slightly early
    assert.isAtLeast(took, 0.9 * DEADLINE_MS)
  })

  it("Amendment 30: reads results that arrived during a stall of this process before a command expires", async () => {
    const outcomes = new Outcomes()
    submitAll(outcomes, 1, "first")
    await outcomes.reach(1)
    submitAll(outcomes, 10, "slow")
    await new Promise((resolve) => setImmediate(resolve))
    const until = performance.now() + 3 * DEADLINE_MS
    while (performance.now() < until);
    await outcomes.reach(11)
    assert.deepStrictEqual(outcomes.count(), { ack: 11 })
  })

  it("reports commands as not sequenced while there is no backend, and recovers with it", async () => {
    const outcomes = new Outcomes()
    submitAll(outcomes, 1, "warm")
    await outcomes.reach(1)
    const { port } = backend
    await backend.stop()
    submitAll(outcomes, 5, "down")
    await outcomes.reach(6)
    assert.deepStrictEqual(outcomes.count(), { ack: 1, unavailable: 5 })
    backend = await start(place.directory, { ...still, port })
    const after = new Outcomes()
    submitAll(after, 1, "up")
    await after.reach(1)
    assert.deepStrictEqual(after.count(), { ack: 1 })
  })

  it("fails fast while the sequencer returns no results, except for one probe at a time and cancels", async () => {
    const outcomes = new Outcomes()
    submitAll(outcomes, 1, "warm")
    await outcomes.reach(1)
    proxy.swallow()
    stream.submit(deposit(1, "late"), outcomes.take("late"))
    await outcomes.reach(2)
    assert.deepStrictEqual(outcomes.count(), { ack: 1, unknown: 1 })
    submitAll(outcomes, 5, "more")
    const cancel = { $case: "cancel_all" as const, value: CancelAll.decode(new Uint8Array()) }
    stream.submit({ ...deposit(1, "cancel"), command: cancel }, outcomes.take("cancel"))
    // the probe
    assert.strictEqual(outcomes.count()["unavailable"], 4)
    assert.isFalse(outcomes.all.has("more-0"))
    assert.isFalse(outcomes.all.has("cancel"))
    proxy.open()
    proxy.cut()
    for (let i = 0; outcomes.count()["ack"] === 1; i++) {
      stream.submit(deposit(1, `again-${i}`), outcomes.take(`again-${i}`))
      await new Promise((resolve) => setTimeout(resolve, 50))
    }
  })

  it("sends a command that was queued during a short outage, within its deadline", async () => {
    const outcomes = new Outcomes()
    submitAll(outcomes, 1, "warm")
    await outcomes.reach(1)
    proxy.cut()
    await until("the stream is lost", () => !stream.connected)
    submitAll(outcomes, 5, "short")
    await outcomes.reach(6)
    assert.deepStrictEqual(outcomes.count(), { ack: 6 })
  })

  it("gives two concurrent commands of one command_id their own results, in order", async () => {
    const answers: Array<Outcome> = []
    await new Promise<void>((resolve) => {
      const done = (outcome: Outcome) => {
        if (answers.push(outcome) === 2) resolve()
      }
      stream.submit(deposit(1, "twin"), done)
      stream.submit(deposit(1, "twin"), done)
    })
    const duplicates = answers.map((outcome) => outcome?.$case === "ack" && outcome.value.duplicate)
    assert.deepStrictEqual(duplicates, [false, true])
  })

  it("refuses commands beyond its limit at once, and withdraws unwritten commands", async () => {
    const outcomes = new Outcomes()
    submitAll(outcomes, PENDING_COMMANDS_MAX + 2, "many")
    assert.deepStrictEqual(outcomes.count(), { unavailable: 2 })
    await outcomes.reach(PENDING_COMMANDS_MAX + 2)
    assert.strictEqual(stream.size, 0)
    const withdrawn = new Outcomes()
    stream.submit(deposit(1, "regret"), withdrawn.take("regret"))()
    await withdrawn.reach(1)
    assert.deepStrictEqual(withdrawn.count(), { unavailable: 1 })
    assert.isFalse(journalled().has("regret"))
  })

  it("Amendment 18: does not write a command whose credential ended while it was queued", async () => {
    const outcomes = new Outcomes()
    submitAll(outcomes, 1, "first")
    await outcomes.reach(1)
    const [ends, stays] = [new Grant("key-1", "user"), new Grant("key-2", "user")]
    stream.submit(deposit(1, "ended"), outcomes.take("ended"), ends)
    stream.submit(deposit(1, "own"), outcomes.take("own"))
    stream.submit(deposit(1, "other"), outcomes.take("other"), stays)
    ends.end("banned")
    await outcomes.reach(4)
    assert.deepStrictEqual(outcomes.all.get("ended"), { $case: "ended", why: "banned" })
    assert.deepStrictEqual(outcomes.count(), { ack: 3, ended: 1 })
    assert.isFalse(journalled().has("ended"))
    assert.isFalse(stays.isHeld || ends.isHeld)
  })

  it("Amendment 18: holds a credential from the write of its command until the result or the loss of the stream", async () => {
    const outcomes = new Outcomes()
    submitAll(outcomes, 1, "first")
    await outcomes.reach(1)
    proxy.swallow()
    const grant = new Grant("key-1", "user")
    stream.submit(deposit(1, "written"), outcomes.take("written"), grant)
    assert.isFalse(grant.isHeld)
    while (!grant.isHeld) await new Promise((resolve) => setImmediate(resolve))
    // the caller gets its outcome first: the command may still be sequenced
    await outcomes.reach(2)
    assert.strictEqual(outcomes.all.get("written")!.$case, "unknown")
    assert.isTrue(grant.isHeld)
    const idle = new Promise<void>((resolve) => void grant.whenIdle(resolve))
    grant.end("revoked")
    proxy.cut()
    await idle
    assert.isFalse(grant.isHeld)
  })

  describe("Amendment 18: while changes of credentials cannot be read", () => {
    const cancel = { $case: "cancel_all" as const, value: CancelAll.decode(new Uint8Array()) }
    const warmed = async () => {
      const outcomes = new Outcomes()
      submitAll(outcomes, 1, "warm")
      await outcomes.reach(1)
      return { outcomes, lease: new ManualLease() }
    }

    it("writes cancels and the gateway's own commands, and holds the others in order until the lease is renewed", async () => {
      const { lease, outcomes } = await warmed()
      const [alice, bob] = [new Grant("key-1", "alice", lease), new Grant("key-2", "bob", lease)]
      lease.end()
      const order: Array<string> = []
      const submit = (id: string, grant?: Grant, command = deposit(1, id)) =>
        stream.submit(
          command,
          (outcome) => {
            order.push(id)
            outcomes.take(id)(outcome)
          },
          grant
        )
      submit("first", alice)
      submit("second", bob)
      submit("cancel", alice, { ...deposit(1, "cancel"), command: cancel })
      submit("own")
      await outcomes.reach(3)
      submit("third", alice)
      // commands are written in their order, so a result of a later one shows that the others are held
      submit("own after")
      await outcomes.reach(4)
      assert.sameMembers(order, ["cancel", "own", "own after"])
      assert.isFalse(journalled().has("first"))
      // a read that began too long ago does not release them
      lease.renewLate()
      submit("own at last")
      await outcomes.reach(5)
      assert.strictEqual(order.length, 4)
      lease.renew()
      await outcomes.reach(8)
      assert.deepStrictEqual(order.slice(4), ["first", "second", "third"])
      assert.isFalse(alice.isHeld || bob.isHeld)
      assert.strictEqual(lease.waiters, 0)
    })

    it("does not write a held command whose credential the renewing read found to have ended", async () => {
      const { lease, outcomes } = await warmed()
      const grant = new Grant("key-1", "user", lease)
      lease.end()
      stream.submit(deposit(1, "late"), outcomes.take("late"), grant)
      await until("the command is held", () => lease.waiters === 1)
      grant.end("revoked")
      lease.renew()
      await outcomes.reach(2)
      assert.deepStrictEqual(outcomes.all.get("late"), { $case: "ended", why: "revoked" })
      assert.isFalse(journalled().has("late"))
    })

    it("does not write a cancel of a credential that is known to have ended", async () => {
      const { lease, outcomes } = await warmed()
      const grant = new Grant("key-1", "user", lease)
      lease.end()
      grant.end("revoked")
      stream.submit({ ...deposit(1, "cancel"), command: cancel }, outcomes.take("cancel"), grant)
      await outcomes.reach(2)
      assert.deepStrictEqual(outcomes.all.get("cancel"), { $case: "ended", why: "revoked" })
    })

    it("refuses a held command at its deadline, as certainly not sequenced", async () => {
      const { lease, outcomes } = await warmed()
      lease.end()
      const began = performance.now()
      stream.submit(deposit(1, "held"), outcomes.take("held"), new Grant("key-1", "user", lease))
      await outcomes.reach(2)
      assert.isAtLeast(performance.now() - began, 0.9 * DEADLINE_MS)
      assert.deepStrictEqual(outcomes.all.get("held"), { $case: "unchecked" })
      // nor kept: a lease may stay lost for hours
      await until("the lease has no waiter", () => lease.waiters === 0)
      lease.renew()
      submitAll(outcomes, 1, "after")
      await outcomes.reach(3)
      assert.isFalse(journalled().has("held"))
    })

    it("gives held commands their outcomes when it is closed", async () => {
      const { lease, outcomes } = await warmed()
      lease.end()
      stream.submit(deposit(1, "held"), outcomes.take("held"), new Grant("key-1", "user", lease))
      await until("the command is held", () => lease.waiters === 1)
      stream.close()
      assert.strictEqual(outcomes.all.get("held")!.$case, "unavailable")
      assert.strictEqual(lease.waiters, 0)
    })
  })

  it("Amendment 18: a command that a stalled link delivers too late is refused, and not sequenced", async () => {
    const outcomes = new Outcomes()
    const grant = new Grant("key-1", "user", new ManualLease(20))
    submitAll(outcomes, 1, "warm")
    await outcomes.reach(1)
    proxy.stall()
    stream.submit(deposit(1, "late"), outcomes.take("late"), grant)
    stream.submit(deposit(1, "own"), outcomes.take("own"))
    await new Promise((resolve) => setTimeout(resolve, 50))
    assert.isTrue(grant.isHeld)
    proxy.open()
    await outcomes.reach(3)
    assert.deepStrictEqual(outcomes.count(), { ack: 2, status: 1 })
    const late = outcomes.all.get("late")
    assert.strictEqual(late?.$case === "status" && late.value.reason, "Overloaded")
    assert.isFalse(journalled().has("late"))
    // the refused command may be sent again
    const again = new Outcomes()
    stream.submit(deposit(1, "late"), again.take("late"), new Grant("key-1", "user", new ManualLease()))
    await again.reach(1)
    assert.deepStrictEqual(again.count(), { ack: 1 })
  })

  it("gives every command an outcome when it is closed", async () => {
    const outcomes = new Outcomes()
    submitAll(outcomes, 100, "closing")
    stream.close()
    assert.strictEqual(outcomes.all.size, 100)
  })

  it("reports a written command as unknown when it is closed, and one that is not written as not sequenced", async () => {
    const outcomes = new Outcomes()
    submitAll(outcomes, 1, "warm")
    await outcomes.reach(1)
    proxy.swallow()
    submitAll(outcomes, 3, "written")
    // commands are written in the next turn of the event loop
    await new Promise(setImmediate)
    submitAll(outcomes, 2, "waiting")
    stream.close()
    assert.deepStrictEqual(outcomes.count(), { ack: 1, unknown: 3, unavailable: 2 })
  })
})

describe("CommandStream without the secret", () => {
  beforeEach(() => connect({ secret: "sesame" }))

  it("reports a fault, not an unavailable backend", async () => {
    const outcomes = new Outcomes()
    submitAll(outcomes, 1, "stranger")
    await outcomes.reach(1)
    assert.deepStrictEqual(outcomes.count(), { fault: 1 })
    assert.strictEqual(journalled().size, 0)
  })
})
