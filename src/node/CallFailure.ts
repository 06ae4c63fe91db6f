/** The failure of a call, as grpc-js reports it. */
import { Metadata, type ServiceError, type status } from "@grpc/grpc-js"

export const callFailure = (
  code: status,
  details: string,
  { cause, metadata = new Metadata() }: { readonly cause?: unknown; readonly metadata?: Metadata } = {}
): ServiceError => Object.assign(new Error(details, { cause }), { code, details, metadata })
