/** The files in deploy/ refer to existing settings, values, ports, paths, services, volumes and secrets. */
import { ConfigProvider, Effect, Redacted } from "effect"
import { existsSync } from "node:fs"
import { assert, describe, it } from "vitest"
import { rows, settings as backendSettings } from "../../src/backend/Settings.ts"
import { settings, table } from "../../src/layers/Settings.ts"
import { addressesOf } from "../../src/backend/journal/shared/PostgresJournal.ts"
import {
  compositions,
  IMAGE,
  objects,
  orchestrated,
  probesOf,
  programs,
  text,
  type Value,
  withStandby
} from "./Manifests.ts"

const BACKEND = "src/backend/main.ts"
const ofGateway = new Set(Object.values(table).map(({ name }) => name))
const ofBackend = new Set(rows.map(({ name }) => name))
/** The settings of each program; the relay reads the gateway's. */
const known = (main: string): ReadonlySet<string> => (main === BACKEND ? ofBackend : ofGateway)

/** The placeholder of a secret while its setting is read. */
const secrets: Readonly<Record<string, string>> = {
  JWT_SIGNING_KEY: "ab".repeat(32),
  BACKEND_SECRET: "between-gateway-and-backend",
  ADMIN_PASSWORD: "correct-horse-battery",
  DATABASE_URL: "postgres://gateway:secret@postgres:5432/gateway",
  REDIS_URL: "redis://redis:6379/0",
  JOURNAL_URL: "postgres://journal:secret@journal-1:5432,journal-2:5432/journal"
}
const isSecret = (value: string): boolean => value.startsWith("secret ") || value.includes("${")

const kinds = (kind: string): ReadonlyArray<Value> => objects().filter((object) => object.kind === kind)
const workloads = () => objects().filter((object) => object.spec?.template !== undefined)
/** The programs that listen on a port. */
const servers = () => workloads().filter(({ spec }) => spec.template.spec.containers[0].ports !== undefined)

describe("the programs that deploy/ starts", () => {
  it("belong to this project", () => {
    assert.sameMembers(
      programs().map(({ main, where }) => `${where} ${main}`),
      [
        "deploy/compose.yml: gateway src/main.ts",
        "deploy/compose.fleet.yml: gateway src/main.ts",
        "deploy/compose.fleet.yml: backend src/backend/main.ts",
        "deploy/compose.fleet.yml: relay src/layers/nats/main.ts",
        "deploy/compose.standby.yml: gateway src/main.ts",
        "deploy/compose.standby.yml: backend src/backend/main.ts",
        "deploy/compose.standby.yml: backend-2 src/backend/main.ts",
        "deploy/compose.standby.yml: relay src/layers/nats/main.ts",
        "Deployment trading-gateway src/main.ts",
        "Deployment trading-relay src/layers/nats/main.ts",
        "StatefulSet trading-backend src/backend/main.ts"
      ]
    )
    for (const { main } of programs()) assert.isTrue(existsSync(main), main)
    assert.include(IMAGE, JSON.parse(text("package.json")).version)
  })

  it("Amendment 23: listen on every address in an image, since a container is otherwise unreachable", () => {
    const last = text("Dockerfile")
      .split(/^FROM /mu)
      .at(-1)!
    assert.match(last, /^ENV .*\bHOST=0\.0\.0\.0$/mu)
    for (const { env, where } of programs()) assert.notProperty(env, "HOST", where)
  })

  it("have known settings with valid values", async () => {
    for (const { env, main, where } of programs()) {
      for (const name of Object.keys(env)) assert.isTrue(known(main).has(name), `${where}: ${name}`)
      const given = Object.fromEntries(
        Object.entries(env).map(([name, value]) => [name, isSecret(value) ? secrets[name] : value])
      )
      const read = (main === BACKEND ? Effect.asVoid(backendSettings) : Effect.asVoid(settings)).pipe(
        Effect.provide(ConfigProvider.layer(ConfigProvider.fromUnknown(given)))
      )
      await Effect.runPromise(read).catch((error) => assert.fail(`${where}: ${error}`))
    }
  })

  it("get secrets by reference, never by value", () => {
    for (const { env, where } of programs()) {
      for (const name of Object.keys(secrets)) {
        if (env[name] !== undefined && name !== "REDIS_URL") assert.isTrue(isSecret(env[name]), `${where}: ${name}`)
      }
    }
  })

  it("have enough time to stop: the drain, the requests in flight, and a reserve", async () => {
    const drain_s = (env: Readonly<Record<string, string>>) => Number(env["DRAIN_MS"] ?? table.drainMs.default) / 1000
    for (const { env, where } of programs()) assert.isAtMost(drain_s(env) + 10 + 5, 30, where)
    for (const { metadata, spec } of workloads()) {
      const { containers, terminationGracePeriodSeconds } = spec.template.spec
      if (containers[0].args[0] !== "src/main.ts") continue
      const before = containers[0].lifecycle?.preStop.sleep.seconds ?? 0
      assert.isAtLeast(terminationGracePeriodSeconds, before + 30, metadata.name)
    }
    for (const [file, { services }] of Object.entries(compositions)) {
      for (const service of Object.values<Value>(services)) {
        if (service.image === IMAGE) assert.strictEqual(service.stop_grace_period, "40s", file)
      }
    }
  })
})

describe("the manifests", () => {
  it("select existing objects", () => {
    const labels = servers().map(({ spec }) => JSON.stringify(spec.template.metadata.labels))
    for (const { metadata, spec } of workloads()) {
      assert.deepStrictEqual(spec.selector.matchLabels, spec.template.metadata.labels, metadata.name)
    }
    for (const { metadata, spec } of kinds("Service")) {
      assert.include(labels, JSON.stringify(spec.selector), metadata.name)
      const ports = servers().flatMap(({ spec }) => spec.template.spec.containers[0].ports)
      for (const { targetPort } of spec.ports) assert.isTrue(ports.some(({ name }: Value) => name === targetPort))
    }
    const budgets = kinds("PodDisruptionBudget").map(({ spec }) => JSON.stringify(spec.selector.matchLabels))
    assert.sameMembers(budgets, labels)
    for (const { spec } of kinds("HorizontalPodAutoscaler")) {
      const { kind, name } = spec.scaleTargetRef
      assert.isTrue(workloads().some((object) => object.kind === kind && object.metadata.name === name))
    }
    const services = kinds("Service").map(({ metadata, spec }) => `${metadata.name}:${spec.ports[0].port}`)
    assert.include(services, kinds("ConfigMap")[0].data.SEQUENCER_URL)
  })

  it("open and probe the ports that the programs listen on", () => {
    const ports = (main: string) =>
      programs()
        .filter((program) => program.main === main)
        .flatMap((program) => program.ports.map(({ containerPort }) => containerPort))
    assert.deepStrictEqual(ports("src/main.ts"), [Number(table.port.default)])
    const { env } = programs().find(({ main, where }) => main === BACKEND && where.startsWith("StatefulSet"))!
    assert.deepStrictEqual(ports(BACKEND), [3011, Number(env["METRICS_PORT"])])
    for (const object of servers()) {
      const { ports } = object.spec.template.spec.containers[0]
      assert.lengthOf(probesOf(object), 3)
      for (const { httpGet, tcpSocket } of probesOf(object))
        assert.isTrue(ports.some(({ name }: Value) => name === (httpGet ?? tcpSocket).port))
    }
  })

  it("encrypt traffic between gateways and backend, with certificates on both sides", () => {
    for (const { metadata, spec } of workloads()) {
      const { containers, volumes } = spec.template.spec
      const env = Object.fromEntries(containers[0].env.map(({ name, value }: Value) => [name, value]))
      const files = ["ca.crt", "tls.crt", "tls.key"].map((name) => `/tls/${name}`)
      const given = [env.BACKEND_TLS_CA, env.BACKEND_TLS_CERT, env.BACKEND_TLS_KEY]
      assert.deepStrictEqual(given, files, metadata.name)
      const mount = containers[0].volumeMounts.find(({ mountPath }: Value) => mountPath === "/tls")
      assert.isTrue(mount.readOnly, metadata.name)
      const { secret } = volumes.find(({ name }: Value) => name === mount.name)
      assert.include(text("deploy/kubernetes/settings.yml"), `\`${secret.secretName}\``)
    }
  })

  it("let only gateways and relays reach the backend", () => {
    const policies = kinds("NetworkPolicy")
    assert.sameMembers(
      policies.map(({ spec }) => JSON.stringify(spec.podSelector.matchLabels)),
      workloads().map(({ spec }) => JSON.stringify(spec.selector.matchLabels))
    )
    const { spec } = policies.find(({ metadata }) => metadata.name === "trading-backend")!
    const reaching = (port: string): ReadonlyArray<Value> =>
      spec.ingress
        .filter((rule: Value) => rule.ports.some((each: Value) => each.port === port))
        .flatMap((rule: Value) => rule.from)
    assert.deepStrictEqual(
      reaching("grpc").map(({ podSelector }) => podSelector.matchLabels.app),
      ["trading-gateway", "trading-relay"]
    )
    assert.isTrue(reaching("metrics").every(({ namespaceSelector }) => namespaceSelector !== undefined))
    assert.deepStrictEqual(spec.egress, [])
    for (const rule of policies.flatMap((policy) => policy.spec.ingress)) assert.isAbove(rule.ports.length, 0)
  })

  it("use the secrets that the documented command creates", () => {
    const documented = [...text("deploy/kubernetes/settings.yml").matchAll(/--from-literal=([A-Z_]+)=/gu)].map(
      (m) => m[1]!
    )
    const used = programs().flatMap(({ env }) => Object.values(env).filter((value) => value.startsWith("secret ")))
    assert.sameMembers(
      [...new Set(used)],
      documented.map((key) => `secret trading-gateway/${key}`)
    )
  })

  it("run without privileges, on read-only files except for their data", () => {
    for (const { metadata, spec } of workloads()) {
      const { containers, securityContext, volumes } = spec.template.spec
      assert.deepInclude(securityContext, { runAsNonRoot: true, runAsUser: 1000, fsGroup: 1000 }, metadata.name)
      assert.deepStrictEqual(containers[0].securityContext, {
        readOnlyRootFilesystem: true,
        allowPrivilegeEscalation: false,
        capabilities: { drop: ["ALL"] }
      })
      const named = [...(volumes ?? []), ...(spec.volumeClaimTemplates ?? [])].map(
        (volume: Value) => volume.name ?? volume.metadata.name
      )
      assert.deepStrictEqual(
        (containers[0].volumeMounts ?? []).map(({ name }: Value) => name),
        named,
        metadata.name
      )
    }
  })
})

describe("the manifests of two backends", () => {
  const all = withStandby()
  const named = (kind: string, name: string): Value =>
    all.find((object) => object.kind === kind && object.metadata.name === name)
  const backend = orchestrated(all).find(({ main }) => main === BACKEND)!

  it("give gateways and relays the address of each backend", () => {
    const { spec } = named("StatefulSet", "trading-backend")
    assert.strictEqual(spec.replicas, 2)
    const addresses = Array.from({ length: spec.replicas }, (_, i) => `trading-backend-${i}.${spec.serviceName}:3011`)
    const readers = orchestrated(all).filter(({ main }) => main !== BACKEND)
    assert.deepStrictEqual(
      readers.map(({ env }) => env["SEQUENCER_URL"]),
      readers.map(() => addresses.join(","))
    )
    const { clusterIP, publishNotReadyAddresses } = named("Service", spec.serviceName).spec
    assert.deepStrictEqual([clusterIP, publishNotReadyAddresses], ["None", true])
  })

  it("let one backend of two stop for a drain, on two nodes", () => {
    const budget = named("PodDisruptionBudget", "trading-backend").spec
    assert.strictEqual(budget.maxUnavailable, 1)
    assert.notProperty(budget, "minAvailable")
    const { podAntiAffinity } = named("StatefulSet", "trading-backend").spec.template.spec.affinity
    const [rule] = podAntiAffinity.requiredDuringSchedulingIgnoredDuringExecution
    assert.deepStrictEqual(rule.labelSelector, { matchLabels: { app: "trading-backend" } })
  })

  it("keep the journal in a PostgreSQL whose commits wait for one of two standbys", () => {
    const { spec } = named("Cluster", "trading-journal")
    assert.strictEqual(spec.instances, 3)
    assert.deepStrictEqual(spec.postgresql.synchronous, {
      method: "any",
      number: 1,
      dataDurability: "required",
      failoverQuorum: true
    })
    assert.strictEqual(spec.postgresql.parameters.synchronous_commit, "on")
  })

  it("give the backends the address of the journal by reference, and the authority of its certificate", () => {
    assert.strictEqual(backend.env["JOURNAL_URL"], "secret trading-journal-url/JOURNAL_URL")
    const unknown = Object.keys(backend.env).filter((name) => !ofBackend.has(name))
    assert.deepStrictEqual(unknown, ["NODE_EXTRA_CA_CERTS"])
    const [, url] = /JOURNAL_URL='([^']+)'/u.exec(text("deploy/kubernetes-standby/journal.yml"))!
    const { hostname, searchParams } = new URL(url!.replace("…", "secret"))
    assert.strictEqual(hostname, `${named("Cluster", "trading-journal").metadata.name}-rw`)
    assert.strictEqual(searchParams.get("sslmode"), "verify-full")
    const pod = named("StatefulSet", "trading-backend").spec.template.spec
    const { secret } = pod.volumes.find(({ name }: Value) => name === "journal-tls")
    assert.deepStrictEqual(secret.items, [{ key: "ca.crt", path: "ca.crt" }])
    const mount = pod.containers[0].volumeMounts.find(({ name }: Value) => name === "journal-tls")
    assert.strictEqual(`${mount.mountPath}/ca.crt`, backend.env["NODE_EXTRA_CA_CERTS"])
  })

  it("let the backends reach the journal and nothing else, and only them", () => {
    const labels = { "cnpg.io/cluster": "trading-journal" }
    const [journal, names, ...others] = named("NetworkPolicy", "trading-backend").spec.egress
    assert.deepStrictEqual(journal, { to: [{ podSelector: { matchLabels: labels } }], ports: [{ port: 5432 }] })
    assert.deepStrictEqual(
      names.ports.map(({ port }: Value) => port),
      [53, 53]
    )
    assert.isEmpty(others)
    const { ingress, podSelector } = named("NetworkPolicy", "trading-journal").spec
    assert.deepStrictEqual(podSelector.matchLabels, labels)
    const clients = ingress
      .flatMap(({ from }: Value) => from)
      .flatMap((peer: Value) => (peer.podSelector === undefined ? [] : [peer.podSelector.matchLabels]))
    assert.deepStrictEqual(clients, [{ app: "trading-backend" }, labels])
  })
})

describe("the compose files", () => {
  it("give two backends one journal on three servers, and a copy each", () => {
    const { services } = compositions["deploy/compose.standby.yml"]
    const backends = [services.backend, services["backend-2"]]
    const [url, other] = backends.map(({ environment }) => environment.JOURNAL_URL as string)
    assert.strictEqual(url, other)
    const hosts = addressesOf(Redacted.make(url!.replace(/\$\{[^}]*\}/u, "secret"))).map(
      (each) => new URL(Redacted.value(each)).hostname
    )
    assert.deepStrictEqual(hosts, ["journal-1", "journal-2", "journal-3"])
    for (const host of hosts) {
      assert.strictEqual(services[host].environment.NAME, host)
      assert.strictEqual(services[host].environment.PGHOST, hosts.join(","))
    }
    const quorum = hosts.map((host) => `"${host}"`).join(", ")
    assert.include(text("deploy/journal/primary.sh"), `synchronous_standby_names = 'ANY 1 (${quorum})'`)
    assert.lengthOf(new Set(backends.map(({ volumes }) => volumes.join(","))), 2)
    for (const { environment } of [services.gateway, services.relay])
      assert.strictEqual(environment.SEQUENCER_URL, "backend:3011,backend-2:3011")
  })

  it("refer to existing services, volumes and files", () => {
    for (const [file, { services, volumes }] of Object.entries(compositions)) {
      for (const [name, service] of Object.entries<Value>(services)) {
        const where = `${file}: ${name}`
        const needed = service.depends_on ?? []
        for (const other of Array.isArray(needed) ? needed : Object.keys(needed))
          assert.property(services, other, where)
        for (const [other, { condition }] of Array.isArray(needed) ? [] : Object.entries<Value>(needed)) {
          if (condition === "service_healthy") assert.property(services[other], "healthcheck", where)
        }
        for (const volume of service.volumes ?? []) {
          const source = volume.split(":")[0]!
          if (source.startsWith("./")) assert.isTrue(existsSync(`deploy/${source}`), where)
          else assert.property(volumes, source, where)
        }
        for (const [, host] of JSON.stringify(service.environment ?? {}).matchAll(/[@/"]([a-z]+):\d+[/"]/gu)) {
          assert.property(services, host!, where)
        }
      }
    }
  })

  it("put a load balancer in front that checks readiness and sends no request twice", () => {
    const { balancer, gateway } = compositions["deploy/compose.fleet.yml"].services
    const config = text("deploy/haproxy.cfg")
    assert.include(balancer.volumes[0], "haproxy.cfg")
    assert.match(config, new RegExp(`^ +server-template gateway ${gateway.deploy.replicas} gateway:3010 `, "mu"))
    assert.match(config, /^ +option httpchk GET \/ready$/mu)
    assert.match(config, /^ +retry-on conn-failure$/mu)
    assert.strictEqual(gateway.environment.TRUSTED_PROXIES, "1")
  })
})
