/** The compose files and the Kubernetes manifests as values, and the project's programs that they start. */
import { readdirSync, readFileSync } from "node:fs"
import { Yaml } from "effect/encoding"

// oxlint-disable-next-line typescript/no-explicit-any
export type Value = any

export const text = (path: string): string => readFileSync(path, "utf8")

export const IMAGE = "trading-gateway:0.1.1"
export const compositions: Readonly<Record<string, Value>> = {
  "deploy/compose.yml": Yaml.parse(text("deploy/compose.yml")),
  "deploy/compose.fleet.yml": Yaml.parse(text("deploy/compose.fleet.yml"))
}

/** Every object of the manifests, over all files. */
export const objects = (): ReadonlyArray<Value> =>
  readdirSync("deploy/kubernetes").flatMap((file) =>
    text(`deploy/kubernetes/${file}`)
      .split(/^---$/mu)
      .map((document) => Yaml.parse(document))
  )

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

const orchestrated = (): ReadonlyArray<Program> => {
  const all = objects()
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
  ...orchestrated()
]
