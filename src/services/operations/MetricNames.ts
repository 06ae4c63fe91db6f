/**
 * Every metric of the gateway: name, type, labels, meaning, in one table, which docs/operations/metrics.md repeats word by word.
 * Values of labels are few and known: an endpoint's path, a word of a catalogue, never a user, an address or an id.
 * Source: docs/contract/rest.md#service-endpoints, docs/contract/boundary.md#lagging.
 */

interface Kind<T extends string, L extends string> {
  readonly type: T
  readonly labels: ReadonlyArray<L>
  readonly about: string
}

const counter = <const L extends string = never>(about: string, ...labels: ReadonlyArray<L>): Kind<"counter", L> => ({
  type: "counter",
  labels,
  about
})
const gauge = <const L extends string = never>(about: string, ...labels: ReadonlyArray<L>): Kind<"gauge", L> => ({
  type: "gauge",
  labels,
  about
})
const histogram = <const L extends string = never>(
  about: string,
  ...labels: ReadonlyArray<L>
): Kind<"histogram", L> => ({ type: "histogram", labels, about })

export const catalogue = {
  // requests
  gateway_http_request_duration_seconds: histogram(
    "from the head of a request to the end of its answer; `status` 499: the caller left first",
    "method",
    "route",
    "status"
  ),
  gateway_rate_limit_refusals_total: counter("requests over the limit of a bucket", "bucket"),
  gateway_auth_failures_total: counter("credentials that were not accepted, by the reason of the refusal", "reason"),
  gateway_cache_lookups_total: counter(
    "lookups of `tokens` that were verified, `api_keys`, `signature_keys` and market `answers`; `result`: hit or miss",
    "cache",
    "result"
  ),
  // sockets
  gateway_ws_connections: gauge("open WebSockets, those of `/rpc` included"),
  gateway_ws_sessions: gauge(
    "open sessions by endpoint; `rpc`: sockets of `/rpc`, whose streams are sessions of the feeds",
    "endpoint"
  ),
  gateway_ws_subscriptions: gauge("subscriptions by kind of topic; `private`: sessions with a user", "topic"),
  gateway_ws_queued_bytes: gauge("bytes that wait for sockets which do not keep up"),
  gateway_ws_conflations_total: counter("feeds of slow sockets that were dropped and replaced by one snapshot"),
  gateway_ws_closed_total: counter(
    "sessions that ended, by close code; `SlowConsumer` 4008; `Peer` 0: the other side left",
    "reason",
    "code"
  ),
  // the event lane
  gateway_projector_events_total: counter("events of the stream that were applied and shown"),
  gateway_projector_commit_seconds: histogram("commit of a batch of events to the database"),
  gateway_history_written_events_total: counter("events of the stream that this gateway has seen in the database"),
  gateway_history_unwritten_events: gauge("events that are shown and not in the database; at most about 65,536"),
  gateway_history_unwritten_seconds: gauge("age of the oldest event that is shown and not in the database"),
  gateway_read_model_rebuilds_total: counter(
    "read models that were rebuilt; `reason`: Forked (the backend is on another history), Expired or Restarted (the backend no longer has the events), Version (another version of the gateway wrote it)",
    "reason"
  ),
  gateway_stream_losses_total: counter("streams of a backend that were lost and taken up again", "stream"),
  gateway_leads: gauge("1: this gateway writes the read model; of those that share a database one does"),
  // commands and backends
  gateway_commands_total: counter(
    "commands to the sequencer; `outcome`: acknowledged, refused, unavailable, unchecked, overloaded, unknown, fault",
    "command",
    "outcome"
  ),
  gateway_command_duration_seconds: histogram("from a command's hand-over to its outcome"),
  gateway_commands_pending: gauge("commands without an outcome"),
  gateway_commands_limit: gauge("commands that may be in flight; follows the delay until they are shown"),
  gateway_commands_in_flight: gauge("commands that were admitted and are not shown yet"),
  gateway_commands_waiting: gauge("commands that wait for a slot"),
  gateway_command_shown_seconds: histogram("from a command's admission until this gateway shows what it caused"),
  gateway_command_refusals_total: counter("commands that were refused as `Overloaded`"),
  gateway_breaker_open: gauge("1: calls of this kind are refused at once, because the last ones failed", "breaker"),
  gateway_ready: gauge("1: `/ready` answers 200"),
  gateway_dependency_up: gauge(
    "1: well; `dependency`: sequencer, referee, database, and redis and nats where they are set",
    "dependency"
  ),
  gateway_database_up: gauge("1: the database answers within a second"),
  gateway_backend_up: gauge("1: connected and not silent; `backend`: sequencer or referee", "backend"),
  gateway_backend_lag_events: gauge("events of the stream that are not applied yet", "backend"),
  gateway_backend_lag_seconds: gauge("age of the oldest of them", "backend"),
  // telemetry
  gateway_otlp_records_total: counter(
    "spans and log records for the collector; `outcome`: sent or dropped",
    "signal",
    "outcome"
  ),
  // the process
  process_cpu_seconds_total: counter("time on processors, all threads"),
  process_resident_memory_bytes: gauge("memory of the process"),
  process_open_fds: gauge("open files and sockets; only on Linux"),
  process_max_fds: gauge("how many it may open; only on Linux"),
  process_start_time_seconds: gauge("when the process was started, Unix time"),
  nodejs_heap_used_bytes: gauge("heap in use of the main thread"),
  nodejs_eventloop_delay_seconds: gauge("delay of the event loop in the last ten seconds", "percentile")
}

type Catalogue = typeof catalogue
export type Name = keyof Catalogue
export type NameOf<T extends string> = { [N in Name]: Catalogue[N]["type"] extends T ? N : never }[Name]
/** Values of a metric's labels. */
export type Labels<N extends Name> = { readonly [L in Catalogue[N]["labels"][number]]: string }
