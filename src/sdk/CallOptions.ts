export interface CallOptions {
  /** Ends the call: it rejects with the signal's reason. A request that was sent may still have its effect. */
  readonly signal?: AbortSignal
}
