/**
 * Writes the generated modules of clients/python: records, operations and errors, from docs/openapi.json, docs/asyncapi.json, the
 * operations of the SDK and the catalogue of reasons. Run after the documents are generated.
 */
import { readFileSync, writeFileSync } from "node:fs"
import { dirname, join } from "node:path"
import { fileURLToPath } from "node:url"
import { type Code, reasons, codeOf } from "../src/domain/Reason.ts"
import { kindOf, privateTopics } from "../src/domain/TopicNames.ts"
import { isOpen, operations } from "../src/sdk/Operations.ts"
import { closeCodes } from "../src/ws/api/CloseCodes.ts"
import { docstring, type JsonSchema, PythonTypes, type Schemas } from "./python/Schemas.ts"
import { cures } from "./reference/Cures.ts"

const root = dirname(dirname(fileURLToPath(import.meta.url)))
const folder = "clients/python/src/trading_gateway"
const HEAD = "# generated: npm run generate"

interface Parameter {
  readonly name: string
  readonly in: string
  readonly required?: boolean
  readonly description?: string
  readonly schema: JsonSchema
}
interface Content {
  readonly content?: Readonly<Record<string, { readonly schema: JsonSchema }>>
}
interface Operation {
  readonly summary: string
  readonly description?: string
  readonly parameters?: ReadonlyArray<Parameter>
  readonly requestBody?: Content
  readonly responses: Readonly<Record<string, Content>>
}
const read = (path: string) => JSON.parse(readFileSync(join(root, path), "utf8"))
const openapi = read("docs/openapi.json") as {
  readonly paths: Readonly<Record<string, Readonly<Record<string, Operation>>>>
  readonly components: { readonly schemas: Schemas }
}
const asyncapi = read("docs/asyncapi.json") as { readonly components: { readonly schemas: Schemas } }

const snake = (name: string): string => name.replaceAll(/[A-Z]/gu, (letter) => `_${letter.toLowerCase()}`)
const pascal = (name: string): string =>
  name.replaceAll(/(?:^|_)([a-z])/gu, (_, letter: string) => letter.toUpperCase())
const schemaIn = ({ content }: Content): JsonSchema | undefined => content?.["application/json"]?.schema

/** Name of the record of a response: its own, `OrderPage` for rows with a cursor, `TickerList` for rows without. */
const responseName = (schema: JsonSchema): string => {
  const row = schema.properties?.["list"]?.items?.$ref
  if (row === undefined) throw new Error("a response without a name and without rows")
  const isPage = schema.properties?.["next_page_cursor"] !== undefined
  return `${row.slice(row.lastIndexOf("/") + 1)}${isPage ? "Page" : "List"}`
}

interface Field {
  readonly name: string
  readonly annotation: string
  readonly isRequired: boolean
  readonly description: string
}
interface Method {
  readonly group: string
  readonly name: string
  readonly line: string
  readonly summary: string
  readonly description: string
  readonly result: string
  readonly fields: ReadonlyArray<Field>
}

/** All records and operations. The order of the records is that of their first use. */
const made = () => {
  const types = new PythonTypes({ ...asyncapi.components.schemas, ...openapi.components.schemas })
  /** The annotation as another module writes it. */
  const qualified = (annotation: string): string =>
    annotation.replaceAll(/\b[A-Z]\w+\b/gu, (name) =>
      name === "Amount" || types.names.includes(name) ? `m.${name}` : name
    )
  const methods = Object.entries(operations).flatMap(([group, named]) =>
    Object.entries<string>(named).map(([name, line]): Method => {
      const [verb = "", path = ""] = line.split(" ")
      const operation = openapi.paths[`/api/v1${path.replace(/:(\w+)/gu, "{$1}")}`]![verb.toLowerCase()]!
      const [, response] = Object.entries(operation.responses).find(([status]) => status.startsWith("2"))!
      const answered = schemaIn(response)!
      const body = operation.requestBody === undefined ? undefined : schemaIn(operation.requestBody)
      // one class of each body, for batches and for those who build inputs
      if (body !== undefined) types.annotation(body, "sent", "")
      const ofBody = body === undefined ? {} : openapi.components.schemas[body.$ref!.split("/").at(-1)!]!
      const field = (name: string, schema: JsonSchema, isRequired: boolean, description = ""): Field => ({
        name,
        annotation: qualified(types.annotation(schema, "sent", pascal(name))),
        isRequired,
        description
      })
      const fields = [
        ...(operation.parameters ?? [])
          .filter(({ in: place }) => place !== "header")
          .map((one) => field(one.name, one.schema, one.required === true, one.description ?? one.schema.description)),
        ...Object.entries(ofBody.properties ?? {}).map(([name, schema]) =>
          field(name, schema, ofBody.required?.includes(name) === true, schema.description)
        )
      ]
      return {
        group,
        name: snake(name),
        line,
        summary: operation.summary,
        description: operation.description ?? "",
        result: types.annotation(answered, "received", answered.$ref === undefined ? responseName(answered) : ""),
        fields: [...fields.filter(({ isRequired }) => isRequired), ...fields.filter(({ isRequired }) => !isRequired)]
      }
    })
  )
  const events = Object.entries(asyncapi.components.schemas)
    .filter(([name]) => name.endsWith("Event"))
    .map(([name, schema]) => {
      types.annotation({ $ref: `#/${name}` }, "received", "")
      const topic = (schema.properties!["topic"] as { readonly pattern: string }).pattern
      return { name, kind: kindOf(topic.replaceAll("\\", "").replace(/^\^|\$$/gu, "")) }
    })
  return { types, methods, events }
}
const { events, methods, types } = made()

const models = (): string => `${HEAD}
"""Records of the gateway: what calls return, what feeds deliver, and the parts of inputs. Decimals are \`Decimal\`, times Unix ms.

The gateway may add values to enumerations; they arrive as text.
"""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Dict, List, Literal, Optional, Tuple, Type, Union

Amount = Union[Decimal, str]
"""A decimal that is sent: \`Decimal\` or text, never a float."""

Level = Tuple[Decimal, Decimal]
"""Price and quantity."""

${types.text.replaceAll(/\n\n(@dataclass)/gu, "\n\n\n$1").replaceAll(/("""|None|\S)\n\n([A-Z]\w+ = )/gu, "$1\n\n\n$2")}


TopicEvent = Union[
${events.map(({ name }) => `    ${name},`).join("\n")}
]
"""A message of a topic."""

EVENTS: Dict[str, Type[Any]] = {
${events.map(({ kind, name }) => `    ${JSON.stringify(kind)}: ${name},`).join("\n")}
}
"""Events by the kind of their topic: its name up to the first dot, or \`trade/\`."""

PRIVATE_TOPICS = (${privateTopics.map((name) => JSON.stringify(name)).join(", ")})
"""Topics of the caller's own events."""

ADVICE: Dict[int, str] = {
${Object.values(closeCodes)
  .map(({ advice, code }) => `    ${code}: ${JSON.stringify(advice)},`)
  .join("\n")}
}
"""What a client does after a close code."""
`

const groups = [...new Set(methods.map(({ group }) => group))]

/** A method of a group, with one keyword argument per field. */
const method = (one: Method, isAsync: boolean): string => {
  const argument = ({ annotation, isRequired, name }: Field) =>
    isRequired
      ? `        ${name}: ${annotation},`
      : `        ${name}: ${annotation.startsWith("Optional[") ? annotation : `Optional[${annotation}]`} = None,`
  const signature =
    one.fields.length === 0 ? "(self)" : `(\n        self,\n        *,\n${one.fields.map(argument).join("\n")}\n    )`
  const parts = one.fields
    .filter(({ description }) => description !== "")
    .map(({ description, name }) => `    ${name}: ${description}`)
  const doc = [one.summary.replace(/\.?$/u, "."), ...(one.description === "" ? [] : ["", one.description])]
  if (parts.length > 0) doc.push("", "Args:", ...parts)
  const given = one.fields.map(({ name }) => `${JSON.stringify(name)}: ${name}`).join(", ")
  return `    ${isAsync ? "async " : ""}def ${one.name}${signature} -> m.${one.result}:
${docstring(doc.length === 1 ? doc[0]! : `${doc.join("\n")}\n`, "        ")}
        return ${isAsync ? "await " : ""}self._run(${operationOf(one)}, {${given}})`
}
const operationOf = ({ group, name }: Method): string => `${group}_${name}`.toUpperCase()

const faces = (isAsync: boolean): string => {
  const prefix = isAsync ? "Async" : ""
  const classes = groups.map((group) => {
    const own = methods.filter((one) => one.group === group)
    return `class ${prefix}${pascal(group)}Operations:
    """Operations \`${group}\`."""

    def __init__(self, run: ${isAsync ? "AsyncRunner" : "Runner"}) -> None:
        self._run = run

${own.map((one) => method(one, isAsync)).join("\n\n")}`
  })
  return `${classes.join("\n\n\n")}


class ${prefix}Operations:
    """All operations, by group."""

    def __init__(self, run: ${isAsync ? "AsyncRunner" : "Runner"}) -> None:
${groups.map((group) => `        self.${group} = ${prefix}${pascal(group)}Operations(run)`).join("\n")}`
}

const operationsModule = (): string => `${HEAD}
"""The operations of the gateway, by group, for both clients. Decimals are \`Decimal\` or text, times Unix ms."""

from __future__ import annotations

from typing import Any, Awaitable, Dict, Generic, List, Optional, Protocol, Type, TypeVar

from . import models as m

T = TypeVar("T")


class Operation(Generic[T]):
    """An endpoint: its method, its path below the base path, whether it needs no credential, and the record that it returns."""

    def __init__(self, name: str, method: str, path: str, is_open: bool, result: Type[T]) -> None:
        self.name = name
        self.method = method
        self.path = path
        self.is_open = is_open
        self.result = result


class Runner(Protocol):
    """Runs an operation."""

    def __call__(self, operation: Operation[T], fields: Dict[str, Any]) -> T: ...


class AsyncRunner(Protocol):
    """Runs an operation."""

    def __call__(self, operation: Operation[T], fields: Dict[str, Any]) -> Awaitable[T]: ...


${methods
  .map((one) => {
    const [verb = "", path = ""] = one.line.split(" ")
    const tsName = one.name.replaceAll(/_([a-z])/gu, (_, letter: string) => letter.toUpperCase())
    const open = isOpen(one.group, tsName) ? "True" : "False"
    return `${operationOf(one)} = Operation("${one.group}.${one.name}", "${verb}", "${path}", ${open}, m.${one.result})`
  })
  .join("\n")}


${faces(false)}


${faces(true)}
`

const CLASSES: Readonly<Record<Code, string>> = {
  BAD_REQUEST: "BadRequest",
  UNAUTHORIZED: "Unauthorized",
  FORBIDDEN: "Forbidden",
  NOT_FOUND: "NotFound",
  CONFLICT: "Conflict",
  RateLimitExceeded: "TooManyRequests",
  INTERNAL: "Internal",
  SERVICE_UNAVAILABLE: "ServiceUnavailable"
}

const errors = (): string => `${HEAD}
"""Errors of the gateway: a class per code, and below it one per reason. Reasons are stable, messages may change."""

from typing import Dict, Type

from ._error import Closed as Closed
from ._error import ExchangeError as ExchangeError
from ._error import FeedEnded as FeedEnded
from ._error import Unanswered as Unanswered


${Object.entries(CLASSES)
  .map(([code, name]) => `class ${name}(ExchangeError):\n    """Errors with the code \`${code}\`."""`)
  .join("\n\n\n")}


${reasons
  .map((reason) => {
    const { cause, cure } = cures[reason]
    return `class ${reason}(${CLASSES[codeOf(reason)]}):\n${docstring(`${cause} ${cure}`, "    ")}`
  })
  .join("\n\n\n")}


CODES: Dict[str, Type[ExchangeError]] = {
${Object.entries(CLASSES)
  .map(([code, name]) => `    "${code}": ${name},`)
  .join("\n")}
}

REASONS: Dict[str, Type[ExchangeError]] = {
${reasons.map((reason) => `    "${reason}": ${reason},`).join("\n")}
}
`

const files: Readonly<Record<string, () => string>> = {
  "models.py": models,
  "operations.py": operationsModule,
  "errors.py": errors
}
const pathOf = (name: string): string => join(root, folder, name)

/** Modules that are not what the documents say now. */
export const stale = (): ReadonlyArray<string> =>
  Object.entries(files).flatMap(([name, make]) => (make() === readFileSync(pathOf(name), "utf8") ? [] : [name]))

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  for (const [name, make] of Object.entries(files)) writeFileSync(pathOf(name), make())
  console.log(`wrote ${Object.keys(files).join(", ")} of ${folder}`)
}
