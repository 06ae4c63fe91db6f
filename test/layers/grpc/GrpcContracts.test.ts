import { Effect, Layer } from "effect"
import * as GrpcFeed from "../../../src/layers/grpc/GrpcFeed.ts"
import * as GrpcSequencer from "../../../src/layers/grpc/GrpcSequencer.ts"
import * as FeedContract from "../../contracts/FeedContract.ts"
import * as SequencerContract from "../../contracts/SequencerContract.ts"
import { start, temporary } from "../../doubles/FakeBackend.ts"
import { fakeMachine } from "../../doubles/FakeMachine.ts"
import * as MemoryBackend from "../../doubles/MemoryBackend.ts"

/** A separate backend program for each suite. */
const grpc = Layer.unwrap(
  Effect.gen(function* () {
    const { directory, remove } = temporary()
    const backend = yield* Effect.acquireRelease(
      Effect.promise(() => start(directory, { machine: { ...fakeMachine, tickMatters: () => false } })),
      ({ stop }) => Effect.andThen(Effect.promise(stop), Effect.sync(remove))
    )
    const endpoint = { address: `127.0.0.1:${backend.port}`, secret: undefined, tls: undefined }
    return Layer.mergeAll(GrpcSequencer.layer(endpoint), GrpcFeed.layer(endpoint))
  })
)

SequencerContract.suite("gRPC", grpc)
SequencerContract.suite("memory", MemoryBackend.layer)
FeedContract.suite("gRPC", grpc)
FeedContract.suite("memory", MemoryBackend.layer)
