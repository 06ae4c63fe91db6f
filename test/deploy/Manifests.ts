/** The compose files and the Kubernetes manifests as values, and the project's programs that they start. */
import { readFileSync } from "node:fs"
import { Yaml } from "effect/encoding"

// oxlint-disable-next-line typescript/no-explicit-any
export type Value = any

export const text = (path: string): string => readFileSync(path, "utf8")

export const IMAGE = "trading-gateway:0.1.1"

const isMap = (value: Value): boolean => typeof value === "object" && value !== null && !Array.isArray(value)
/** A compose file over another one, as Compose merges them: volumes by their place in the container. */
const over = (base: Value, above: Value, key = ""): Value => {
  if (isMap(base) && isMap(above)) {
    const names = [...new Set([...Object.keys(base), ...Object.keys(above)])]
    return Object.fromEntries(names.map((name) => [name, over(base[name], above[name], name)]))
  }
  if (key === "volumes" && Array.isArray(base) && Array.isArray(above)) {
    const placeOf = (volume: string) => volume.split(":")[1]
    return [...base.filter((volume) => !above.some((other) => placeOf(other) === placeOf(volume))), ...above]
  }
  return above ?? base
}

const fleet: Value = Yaml.parse(text("deploy/compose.fleet.yml"))
/** A composition with the services that it takes from compose.fleet.yml. */
const withFleet = (file: string): Value => {
  const above: Value = Yaml.parse(text(file))
  for (const [name, service] of Object.entries<Value>(above.services)) {
    const { extends: from, ...own } = service
    if (from !== undefined) above.services[name] = over(fleet.services[from.service], own)
  }
  return over(fleet, above)
}

export const compositions: Readonly<Record<string, Value>> = {
  "deploy/compose.yml": Yaml.parse(text("deploy/compose.yml")),
  "deploy/compose.fleet.yml": fleet,
  "deploy/compose.standby.yml": withFleet("deploy/compose.standby.yml")
}

const parsed = (documents: string): ReadonlyArray<Value> =>
  documents.split(/^---$/mu).map((document) => Yaml.parse(document))

/** Every object of the manifests of one backend. */
export const objects = (): ReadonlyArray<Value> =>
  (Yaml.parse(text("deploy/kubernetes/kustomization.yml")) as Value).resources.flatMap((file: string) =>
    parsed(text(`deploy/kubernetes/${file}`))
  )

/** An object under a strategic merge patch of Kubernetes: mounts merge by path, other named items by name; null deletes. */
const patched = (base: Value, patch: Value): Value => {
  if (isMap(base) && isMap(patch)) {
    const all = Object.entries<Value>(patch).map(([name, value]) => [name, patched(base[name], value)])
    return Object.fromEntries(
      Object.entries({ ...base, ...Object.fromEntries(all) }).filter(([, value]) => value !== null)
    )
  }
  const keyOf = (item: Value): string | undefined => item.mountPath ?? item.name
  const isKeyed = [base, patch].every((list) => Array.isArray(list) && list.every((item) => keyOf(item) !== undefined))
  if (!isKeyed) return patch
  const changeOf = (item: Value): Value => patch.find((other: Value) => keyOf(other) === keyOf(item))
  const changed = base.map((item: Value) => (changeOf(item) === undefined ? item : patched(item, changeOf(item))))
  const known = new Set(base.map(keyOf))
  return [...changed, ...patch.filter((item: Value) => !known.has(keyOf(item)))]
}

/** Every object of the manifests of two backends, as `kubectl kustomize` makes them. */
export const withStandby = (): ReadonlyArray<Value> => {
  const folder = "deploy/kubernetes-standby"
  const { patches, resources }: Value = Yaml.parse(text(`${folder}/kustomization.yml`))
  const of = (files: ReadonlyArray<string>) => files.flatMap((file) => parsed(text(`${folder}/${file}`)))
  const [base, ...own] = resources
  if (base !== "../kubernetes") throw new Error(`unknown base ${base}`)
  const all = [...objects(), ...of(own)]
  for (const patch of of(patches.map(({ path }: Value) => path))) {
    const place = all.findIndex(({ kind, metadata }) => kind === patch.kind && metadata.name === patch.metadata.name)
    if (place === -1) throw new Error(`there is no ${patch.kind} ${patch.metadata.name} to patch`)
    all[place] = patched(all[place], patch)
  }
  return all
}

const containersOf = (object: Value): ReadonlyArray<Value> => object.spec?.template?.spec?.containers ?? []

export const probesOf = (object: Value): ReadonlyArray<Value> =>
  containersOf(object).flatMap((container) =>
    [container.startupProbe, container.livenessProbe, container.readinessProbe].filter((probe) => probe !== undefined)
  )

/** A program of this project in a deployment file. */
export interface Program {
  readonly where: string
  /** Its entry module, such as `src/main.ts`. */
  readonly main: string
  /** Secrets are references: `secret NAME/KEY`. */
  readonly env: Readonly<Record<string, string>>
  readonly ports: ReadonlyArray<{ readonly name: string; readonly containerPort: number }>
}

const composed = (file: string): ReadonlyArray<Program> =>
  Object.entries<Value>(compositions[file].services)
    .filter(([, service]) => service.image === IMAGE)
    .map(([name, service]) => ({
      where: `${file}: ${name}`,
      main: service.command?.[0] ?? "src/main.ts",
      env: service.environment,
      ports: []
    }))

export const orchestrated = (all: ReadonlyArray<Value>): ReadonlyArray<Program> => {
  const configOf = (name: string): Readonly<Record<string, string>> =>
    all.find((object) => object.kind === "ConfigMap" && object.metadata.name === name).data
  return all.flatMap((object) =>
    containersOf(object).map((container) => ({
      where: `${object.kind} ${object.metadata.name}`,
      main: container.args[0],
      env: Object.assign(
        {},
        ...(container.envFrom ?? []).map((from: Value) => configOf(from.configMapRef.name)),
        ...(container.env ?? []).map(({ name, value, valueFrom }: Value) => ({
          [name]: value ?? `secret ${valueFrom.secretKeyRef.name}/${valueFrom.secretKeyRef.key}`
        }))
      ),
      ports: container.ports ?? []
    }))
  )
}

export const programs = (): ReadonlyArray<Program> => [
  ...Object.keys(compositions).flatMap(composed),
  ...orchestrated(objects())
]
