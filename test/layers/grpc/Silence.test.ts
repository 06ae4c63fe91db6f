/** A backend that is connected but does not respond, and one that is only slow. */
import { MessageChannel } from "node:worker_threads"
import { Effect, Exit, Scope } from "effect"
import { afterEach, assert, beforeEach, describe, it } from "vitest"
import * as Channel from "../../../src/layers/grpc/Channel.ts"
import { CommandStream, type Outcome } from "../../../src/layers/grpc/CommandStream.ts"
import { type Open, reply } from "../../../src/node/PortCall.ts"
import { CancelAll, GetHeadResponse, SequencerService } from "../../../src/proto/gateway/v1/sequencer.ts"
import { type Running, start, temporary } from "../../doubles/FakeBackend.ts"
import { deposit, fakeMachine } from "../../doubles/FakeMachine.ts"
import { hostile } from "../../doubles/HostileBackend.ts"
import { FaultProxy } from "../../../verification/harness/FaultProxy.ts"

const open = (port: number, scope: Scope.Scope) =>
  Effect.runPromise(
    Channel.make({ address: `127.0.0.1:${port}`, secret: undefined, tls: undefined }, "sequencer").pipe(
      Scope.provide(scope)
    )
  )
const until = async (what: () => boolean) => {
  while (!what()) await new Promise((resolve) => setTimeout(resolve, 10))
}

let scope: Scope.Closeable
beforeEach(() => {
  scope = Effect.runSync(Scope.make())
})
afterEach(() => Effect.runPromise(Scope.close(scope, Exit.void)))

describe("a sequencer that stops responding", () => {
  let place: ReturnType<typeof temporary>
  let backend: Running
  let proxy: FaultProxy
  let channel: Channel.Channel
  let stream: CommandStream
  beforeEach(async () => {
    place = temporary()
    backend = await start(place.directory, { machine: { ...fakeMachine, tickMatters: () => false } })
    proxy = await FaultProxy.start(backend.port)
    channel = await open(proxy.port, scope)
    stream = new CommandStream(channel, { chance: () => 0.5 })
  })
  afterEach(async () => {
    stream.close()
    await proxy.close()
    await backend.stop()
    place.remove()
  })
  const submit = (id: string, more: object = {}): Promise<Outcome> =>
    new Promise((resolve) => stream.submit({ ...deposit(1, id), ...more }, resolve))
  const cancel = { command: { $case: "cancel_all" as const, value: CancelAll.decode(new Uint8Array()) } }
  const head = () => Effect.runPromise(Effect.result(channel.read(SequencerService.getHead, {}, 60_000)))

  it("fails its pending calls, refuses all commands but cancels at once, and is used again after it recovers", async () => {
    assert.strictEqual((await submit("warm"))?.$case, "ack")
    assert.strictEqual((await head())._tag, "Success")
    proxy.swallow()
    // the read has a minute: only the silence can end it
    const [order, canceling, read] = await Promise.all([submit("order"), submit("cancel", cancel), head()])
    assert.isTrue(channel.silence.isSilent())
    assert.strictEqual(order?.$case, "unknown")
    assert.strictEqual(canceling?.$case, "unknown")
    assert.strictEqual(read._tag, "Failure")
    if (read._tag === "Failure") assert.strictEqual(read.failure.details, "the backend does not respond")

    let refused: Outcome
    stream.submit(deposit(1, "next"), (outcome) => (refused = outcome))
    assert.strictEqual(refused?.$case, "unavailable", "it is refused before submit returns")
    const tried = submit("cancel again", cancel)
    assert.strictEqual(stream.size, 1)
    assert.strictEqual((await tried)?.$case, "unknown")

    // what was swallowed meanwhile is gone with its connection
    proxy.open()
    proxy.cut()
    await until(() => !channel.silence.isSilent() && stream.connected)
    assert.strictEqual((await submit("after"))?.$case, "ack")
    assert.strictEqual((await head())._tag, "Success")
  })
})

describe("a backend with a slow read", () => {
  it("does not count as silent while it responds to anything, even without a health service", async () => {
    const slow = await hostile({ sequencer: { getHead: () => {} } })
    try {
      const channel = await open(Number(slow.endpoint.address.split(":")[1]), scope)
      const read = await Effect.runPromise(Effect.flip(channel.read(SequencerService.getHead, {}, 1_500)))
      assert.notStrictEqual(read.details, "the backend does not respond")
      assert.isFalse(channel.silence.isSilent())
    } finally {
      await slow.close()
    }
  })
})

describe("a backend in a thread of this process", () => {
  it("does not count as silent while a busy machine delays it by less than a command may take", async () => {
    const late_ms = 1_200
    const answer = GetHeadResponse.encode({ ...GetHeadResponse.decode(new Uint8Array()), head_seq: 7 }).finish()
    const thread: Open = () => {
      const { port1, port2 } = new MessageChannel()
      setTimeout(() => reply(port2, answer), late_ms)
      return port1
    }
    const channel = await Effect.runPromise(Channel.make({ open: thread }, "sequencer").pipe(Scope.provide(scope)))
    const { head_seq } = await Effect.runPromise(channel.read(SequencerService.getHead, {}, 2_000))
    assert.strictEqual(head_seq, 7)
    assert.isFalse(channel.silence.isSilent())
  })
})
