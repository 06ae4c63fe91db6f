/**
 * The standard gRPC health service, for the probes of orchestrators and load balancers.
 *
 * It requires no secret, since probes have none, and exposes only the status. Source:
 * docs/contract/boundary.md#referee.
 */
import { type sendUnaryData, type ServerUnaryCall, type ServerWritableStream, status } from "@grpc/grpc-js"
import {
  type HealthCheckRequest,
  type HealthCheckResponse,
  HealthCheckResponse_ServingStatus as Serving
} from "../../proto/grpc/health/v1/health.ts"

/** Maximum number of concurrent watches. */
export const WATCHES_MAX = 256

type Watch = ServerWritableStream<HealthCheckRequest, HealthCheckResponse>

export class Health {
  private failed = false
  private readonly isLeading: () => boolean
  private readonly services: ReadonlySet<string>
  private readonly watches = new Set<Watch>()

  /**
   * `services`: full names of the services; "" is the whole server. `isLeading`: whether this backend leads; a standby is
   * NOT_SERVING.
   */
  constructor(services: ReadonlyArray<string>, isLeading: () => boolean = () => true) {
    this.services = new Set(["", ...services])
    this.isLeading = isLeading
  }

  private get serving(): boolean {
    return !this.failed && this.isLeading()
  }

  private statusOf(service: string): HealthCheckResponse {
    if (!this.services.has(service)) return { status: Serving.SERVICE_UNKNOWN }
    return { status: this.serving ? Serving.SERVING : Serving.NOT_SERVING }
  }

  /** Sets the status to NOT_SERVING, permanently: only a restart resets it. */
  fail(): void {
    if (this.failed) return
    this.failed = true
    this.report()
  }

  /** Sends the status to the watches, after it changed. */
  report(): void {
    for (const watch of this.watches) watch.write(this.statusOf(watch.request.service))
  }

  /** Reports NOT_SERVING and ends the watches. */
  stop(): void {
    this.fail()
    for (const watch of this.watches) watch.end()
    this.watches.clear()
  }

  readonly handlers = {
    check: (
      call: ServerUnaryCall<HealthCheckRequest, HealthCheckResponse>,
      callback: sendUnaryData<HealthCheckResponse>
    ): void => {
      const { service } = call.request
      if (this.services.has(service)) callback(null, this.statusOf(service))
      else callback({ code: status.NOT_FOUND, details: "no such service" })
    },
    watch: (call: Watch): void => {
      if (this.watches.size >= WATCHES_MAX) {
        return void call.emit("error", { code: status.RESOURCE_EXHAUSTED, details: "too many watches" })
      }
      this.watches.add(call)
      call.on("cancelled", () => this.watches.delete(call))
      call.on("close", () => this.watches.delete(call))
      call.write(this.statusOf(call.request.service))
      if (this.failed) call.end()
    }
  }
}
