/** Serves a running backend over gRPC, with server reflection. */
import { Effect, Schema, type Scope } from "effect"
import { ServerReflectionService } from "../../proto/grpc/reflection/v1/reflection.ts"
import type { JournalError } from "../journal/JournalError.ts"
import * as GrpcServer from "./GrpcServer.ts"
import * as Reflection from "./Reflection.ts"
import * as Running from "./Running.ts"

/** The address cannot be bound. */
export class BindError extends Schema.TaggedError<BindError>()("BindError", {
  message: Schema.String,
  cause: Schema.optionalKey(Schema.Unknown)
}) {}

export interface ServeOptions<S, C> extends Running.RunOptions<S, C> {
  readonly host: string
  /** 0 selects a free port. */
  readonly port: number
  readonly secret: string | undefined
  readonly tls: GrpcServer.ServerTls | undefined
}

/** A backend that serves. */
export interface Serving extends Omit<Running.Running, "services" | "open"> {
  readonly port: number
}

const STANDARD_SERVICES = ["grpc.health.v1.Health", "grpc.reflection.v1.ServerReflection"] as const

/** Runs a backend and serves it until the scope closes. */
export const serve = Effect.fnUntraced(function* <S, C>(
  options: ServeOptions<S, C>
): Effect.fn.Return<Serving, JournalError | BindError, Scope.Scope> {
  const { host, port: wanted, secret, tls } = options
  // stops after the backend, which ends its streams
  const server = yield* Effect.acquireRelease(Effect.sync(GrpcServer.makeServer), (server) =>
    Effect.promise(() => GrpcServer.stop(server))
  )
  const { epoch, failed, metrics, services } = yield* Running.run(options)
  for (const { definition, handlers, isPublic } of services)
    GrpcServer.addService(server, definition, isPublic ? handlers : GrpcServer.guard(handlers, secret))
  const reflection = GrpcServer.guard(Reflection.handlers([...Running.SERVICES, ...STANDARD_SERVICES]), secret)
  GrpcServer.addService(server, ServerReflectionService, reflection)
  GrpcServer.addService(server, Reflection.alpha, reflection)
  const port = yield* Effect.tryPromise({
    try: () => GrpcServer.bind(server, host, wanted, tls),
    catch: (cause) =>
      new BindError({ message: `cannot listen on ${host}:${wanted}: ${(cause as Error).message}`, cause })
  })
  return { port, epoch, metrics, failed }
})
