/** A gRPC service and its handlers, whatever carries the calls. */
import type { ServiceDefinition, UntypedServiceImplementation } from "@grpc/grpc-js"

export interface Service {
  readonly definition: ServiceDefinition
  readonly handlers: UntypedServiceImplementation
  /** Calls need no secret: probes have none. */
  readonly isPublic: boolean
}
