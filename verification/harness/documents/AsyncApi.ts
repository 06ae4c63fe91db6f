/** The committed AsyncAPI document, and whether a frame is what it says; frames of a gateway hold nothing beyond it. */
import { Ajv, type ValidateFunction } from "ajv"
import { readFileSync } from "node:fs"

// oxlint-disable-next-line typescript/no-explicit-any
type Json = any

export const document: Json = JSON.parse(readFileSync(new URL("../../../docs/asyncapi.json", import.meta.url), "utf8"))

/** Closes every object that names its members: in a test, what the document does not know is a mistake. */
const closed = (value: Json): Json => {
  if (Array.isArray(value)) return value.map(closed)
  if (value === null || typeof value !== "object") return value
  const members = Object.fromEntries(Object.entries(value).map(([key, member]) => [key, closed(member)]))
  return value.properties === undefined ? members : { ...members, additionalProperties: false }
}

const ajv = new Ajv({ strict: false })
ajv.addSchema({ $id: "document", components: { schemas: closed(document.components.schemas) } })

export const nameOf = (ref: string): string => ref.slice(ref.lastIndexOf("/") + 1)

const validators = new Map<string, ValidateFunction>()
const validatorOf = (message: string): ValidateFunction => {
  let found = validators.get(message)
  if (found === undefined) {
    const schema = nameOf(document.components.messages[message].payload.$ref)
    found = ajv.compile({ $ref: `document#/components/schemas/${schema}` })
    validators.set(message, found)
  }
  return found
}

/** Messages that the gateway sends on a path. */
export const sent = (path: string): ReadonlyArray<string> => {
  const [channel] = Object.entries<Json>(document.channels).find(([, { address }]) => address === path)!
  const own = Object.values<Json>(document.operations).filter((each) => nameOf(each.channel.$ref) === channel)
  const refs = own.flatMap(({ action, messages, reply }) => (action === "send" ? messages : reply.messages))
  return [...new Set(refs.map(({ $ref }: { readonly $ref: string }) => nameOf($ref)))]
}
const sentOn = new Map<string, ReadonlyArray<string>>()

/** What is wrong with a value that shall be one of a message; `undefined`: nothing. */
export const wrongWith = (message: string, value: unknown): string | undefined => {
  const validate = validatorOf(message)
  return validate(value) ? undefined : ajv.errorsText(validate.errors)
}

/** The message of the document that a frame on a path is; fails where it is none. */
export const messageOf = (path: string, frame: Json): string => {
  let names = sentOn.get(path)
  if (names === undefined) sentOn.set(path, (names = sent(path)))
  const isIt = (name: string): boolean => {
    const { properties } = document.components.schemas[nameOf(document.components.messages[name].payload.$ref)]
    if (!properties.op.enum.includes(frame.op)) return false
    if (frame.op === "event") return new RegExp(properties.topic.pattern, "u").test(frame.topic)
    return properties.success === undefined || properties.success.enum.includes(frame.success)
  }
  const found = names.find(isIt)
  if (found === undefined)
    throw new Error(`${path}: no message of the document: ${JSON.stringify(frame).slice(0, 300)}`)
  const wrong = wrongWith(found, frame)
  if (wrong !== undefined) throw new Error(`${path}: ${found}: ${wrong}: ${JSON.stringify(frame).slice(0, 1_000)}`)
  return found
}
