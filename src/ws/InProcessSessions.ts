/** Opens feed sessions without a socket, for servers of other protocols, under the same limits as WebSockets. */
import { Effect, Stream } from "effect"
import { clientIpOf } from "../domain/ClientIp.ts"
import { DomainError } from "../services/DomainError.ts"
import type { Open } from "../services/operations/InProcessFeeds.ts"
import type { Admission } from "./Admission.ts"
import type { ConnectionRegistry } from "./ConnectionRegistry.ts"
import { InProcessTransport } from "./InProcessTransport.ts"
import { Session, type SessionDeps } from "./Session.ts"

export const openInProcess =
  (admission: Admission, registry: ConnectionRegistry, deps: SessionDeps): Open =>
  ({ endpoint, messages, peer }) =>
    Stream.unwrap(
      Effect.gen(function* () {
        const ip = clientIpOf(peer.address, peer.forwarded, deps.limits.trusted_proxies)
        const refused = admission.refusalOf(endpoint, ip)
        if (refused !== undefined) return yield* Effect.fail(new DomainError(refused))
        const transport = yield* Effect.acquireRelease(
          Effect.tap(InProcessTransport.make, (opened) =>
            Effect.sync(() => opened.begin(registry.add(new Session(deps, opened, endpoint, ip)), messages))
          ),
          (opened) => Effect.sync(() => opened.terminate())
        )
        return transport.messages
      })
    )
